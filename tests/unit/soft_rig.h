/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The same requests made of a ring in plain memory and of io_uring. Where this system has no io_uring, an engine that
 * insists on it cannot be made.
 */
#ifndef SOFT_RIG_H
#define SOFT_RIG_H

#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/ring.h"

#define WAIT_MS 10000
#define QUIET_MS 50
#define MOST 64

extern struct xiw_engine *e;
extern bool io_uring; /* the ring of `e` is one */
extern int at[2];     /* a TCP connection: the engine's end, the peer's */
extern struct io_uring_cqe got[MOST];
extern unsigned int ngot;
extern uint8_t octets[4 << 20];

int make_engine(const char *ring, struct xiw_engine **engine);
int listening(struct sockaddr_in *addr);
/* Makes a connection `at`. */
void connect_both(void);
void reset(int fd);
void forget_close(int fd);
/* Takes completions until there are `n` in all. With fewer, it waits, for at most `ms`. */
void take(unsigned int n, int ms);

/*
 * The next completions are these, and there are no others. `what` is user_data. With io_uring, a cancel may be complete
 * before what it has ended; so the completions of a request are compared in their order, requests by number.
 */
struct expected {
	uint64_t what;
	int res;
	bool more;
};

void expect(const struct expected *x, unsigned int n, int line);

#define EXPECT(...)                                                                                \
	do {                                                                                       \
		const struct expected x_[] = { __VA_ARGS__ };                                      \
                                                                                                   \
		expect(x_, sizeof(x_) / sizeof(x_[0]), __LINE__);                                  \
	} while (0)
#define NOTHING() expect(NULL, 0, __LINE__)

/* A request to be filled in. */
struct io_uring_sqe *request(uint64_t what);
void cancel(uint64_t what, uint64_t of);
void receive_on(uint64_t what);

/* Has the test once with each ring. */
void both(void (*test)(void));

#define BOTH(suite, name)                                                                          \
	static void name##_(void);                                                                 \
	Test(suite, name)                                                                          \
	{                                                                                          \
		both(name##_);                                                                     \
	}                                                                                          \
	static void name##_(void)

#endif
