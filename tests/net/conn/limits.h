/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the cases of limits.c share: an engine with two listeners, its application, and peers on loopback. */
#ifndef XIW_TESTS_NET_LIMITS_H
#define XIW_TESTS_NET_LIMITS_H

#include <xiwarp/xiwarp.h>

#include "tests/net/lib/common.h"

#define MANY 3000
#define PATIENCE_MS 15000
#define STAG 0x1234u
#define REGION (1u << 20)
#define MIN_MEMORY (4u << 20)
#define TRY(x)                                                                                     \
	do {                                                                                       \
		const char *why_ = (x);                                                            \
		if (why_)                                                                          \
			return why_;                                                               \
	} while (0)
#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			snprintf(why_not, sizeof(why_not), "%s:%d: %s", __FILE__, __LINE__, #x);   \
			return why_not;                                                            \
		}                                                                                  \
	} while (0)

struct limit_case {
	const char *name;
	const char *(*run)(void); /* NULL, or what was wrong */
};

struct limits {
	struct xiw_engine *e;
	struct xiw_listener *l[2];
	struct xiw_region *region;
	struct sockaddr_in at[2];
	bool mute; /* the application does not answer Requests */
	struct xiw_conn *deciding[MANY];
	struct xiw_conn *open[MANY];
	unsigned int ndeciding, nopen;
	unsigned int closed, crowded_out, told_crowded, told_memory, written;
	int fds[MANY];
	unsigned int nfds;
};

extern struct limits t;
extern char why_not[256];
extern const struct limit_case unstarted_cases[], memory_cases[];

/* ---- the application ------------------------------------------------------------------------- */

const char *open_engine(const struct xiw_engine_opts *eopts, const struct xiw_conn_opts *opts);
/* Options with these limits, and a minute for the startup. */
struct xiw_conn_opts unstarted_opts(unsigned int of_a_listener, unsigned int of_a_peer);
/* One turn of the engine, and all completions. */
void turn(int ms);
/* Turns until the engine has nothing to do for a while. */
void calm(void);
struct xiw_engine_info engine_info(void);
/* The peers leave, and the engine gets everything back. */
const char *all_back(void);

/* ---- peers ----------------------------------------------------------------------------------- */

/* Connects from 127.0.0.`from`. The engine runs meanwhile. */
int dial(unsigned int from, int listener);
/* Connects `n` peers that send nothing. */
void idle(unsigned int n, unsigned int from, int listener);
void drop_peers(void);
bool give(int fd, const void *p, size_t len);
/* False: the connection was closed, or nothing came. */
bool take(int fd, void *to, size_t len);
bool request(int fd);
/* Sends a Request and gets the Reply. */
bool served(int fd);

#endif
