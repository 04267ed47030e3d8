/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A peer made of plain sockets that goes through cases: the control connection to the library's end (peer/end.h), and
 * the connection under test. Nothing here comes from the library. A case is a function that returns NULL, or what was
 * wrong.
 */
#ifndef XIW_TESTS_NET_CASES_H
#define XIW_TESTS_NET_CASES_H

#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include "tests/net/lib/common.h"
#include "tests/net/lib/octets.h"

struct test_case {
	const char *name;
	const char *(*run)(int arg);
	int arg;
};

struct peer {
	struct sockaddr_in end; /* of the library */
	int control, fd;
	bool keep_listening; /* for one more connection of the library */
	int listener;
	int port;
	bool direct;
	const char *only;		   /* run only cases whose names contain this */
	bool markers_out, markers_in, crc; /* as both frames say */
	uint32_t out, in;		   /* stream positions behind the frames */
	uint8_t frame[1024];		   /* the library's startup frame */
	char result[2048];
	char why[4096];
};

extern struct peer peer;
extern int failures;

#define CHECK(cond, ...)                                                                           \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			int _n = snprintf(peer.why, sizeof(peer.why), "%s:%d: %s: ", __FILE__,     \
					  __LINE__, #cond);                                        \
			snprintf(peer.why + _n, sizeof(peer.why) - (size_t)_n, " " __VA_ARGS__);   \
			return peer.why;                                                           \
		}                                                                                  \
	} while (0)
#define TRY(call)                                                                                  \
	do {                                                                                       \
		const char *_why = (call);                                                         \
		if (_why)                                                                          \
			return _why;                                                               \
	} while (0)

/* ---- the control connection ---------------------------------------------------------------------- */

/* Is all of `key=value ...` so? `got` finds a key's value. */
const char *compare(char *want, const char *(*got)(const char *key, char *buf, size_t size));
/* Awaits the library's account and compares it with `key=value ...`. */
const char *result(const char *want);
/* Sets what a connection under test needs: no delay, and a time limit for reads. */
void prepare(int fd);
int accept_from(int l);
/*
 * The library makes a connection as the line `fmt` says; peer.fd is our end of it. The library is the TCP client if it
 * is the Initiator, except when it upgrades.
 */
const char *begin(const char *fmt, ...);
/* With `hold=1` the library's application decides only when it is told. */
const char *decide_now(void);

/* ---- octets -------------------------------------------------------------------------------------- */

const char *push(const void *data, size_t len);
const char *pull(void *data, size_t len);
/* The library has closed the connection, with or without a reset, and sent nothing else. */
const char *closed(void);
/* The library has closed it with a FIN: a reset might have overtaken what was sent before. */
const char *closed_orderly(void);
const char *all_acknowledged(void);
const char *half_close(void);
/* Nothing comes for so long. */
const char *silent(int ms);

/* ---- run ----------------------------------------------------------------------------------------- */

/* Takes the arguments ADDRESS CONTROL-PORT kernel|direct [CASE]. */
void open_control(int argc, char **argv);
void run_case(const char *name, const char *(*run)(int), int arg);
/* All of a table that ends with a nameless case. */
void run_cases(const struct test_case *cases);

#endif
