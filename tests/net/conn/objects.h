/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the cases of objects.c share: an engine with a listener, its application, and peers of plain sockets. */
#ifndef XIW_TESTS_NET_OBJECTS_H
#define XIW_TESTS_NET_OBJECTS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <xiwarp/xiwarp.h>

#define SIZE (1u << 20)
#define STAG 0x77u
#define CONNS 64

struct object_case {
	const char *name;
	bool (*fn)(void);
	bool rdmap;
};

extern const struct object_case event_cases[], engine_cases[], refused_cases[];

extern struct xiw_engine *engine;
extern struct xiw_listener *listener;
extern struct xiw_region *region;
extern uint8_t memory[SIZE];

/* What the application does. */
extern bool as_rdmap, hold_answers, free_at_refused;
extern bool as_example; /* it closes after the peer, and aborts after an error */

/* The connections so far, and their events. They are freed at the end of the test, so that no address comes twice. */
struct seen {
	struct xiw_conn *conn;
	struct xiw_rdma *rdma;
	unsigned int events, closed, after, eof, connected, refused, written;
	struct xiw_completion last;
};

extern struct seen seen[CONNS];
extern unsigned int nseen, strangers; /* strangers: events of other connections */

#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			printf("       %s:%d: not so: %s\n", __FILE__, __LINE__, #x);              \
			return false;                                                              \
		}                                                                                  \
	} while (0)

/* Runs until it is so, or two seconds have passed. */
#define UNTIL(x)                                                                                   \
	do {                                                                                       \
		for (int i_ = 0; i_ < 2000 && !(x); i_++)                                          \
			run(1);                                                                    \
		CHECK(x);                                                                          \
	} while (0)

bool make_engine(void);
struct seen *add(struct xiw_conn *c);
void run(unsigned int turns);

/* ---- the peer -------------------------------------------------------------------------------- */

int dial(void);
void push(int fd, const void *data, size_t len);
void request(int fd);
/* A peer whose connection is established; the library's end is seen[nseen - 1]. -1: it is not established. */
int open_peer(void);
/* An FPDU, the next one of the peer that was opened last. */
size_t tagged(uint8_t *out, uint32_t stag, uint64_t to, uint32_t len, bool last);
void push_tagged(int fd, uint32_t stag, uint64_t to, uint32_t len, bool last);
/* Starts the stream of FPDUs again. */
void reset_stream(void);
void reset(int fd);

#endif
