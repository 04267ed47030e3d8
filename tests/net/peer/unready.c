// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Receiver not ready: a peer of plain sockets sends Sends to an application on the library (unready_end.c) that posts
 * no buffer before it must. RFC 5041 section 7.1 makes that an error; with hold_ms the library waits.
 *
 *   unready ADDRESS CONTROL-PORT kernel|direct [CASE]
 *
 * Prints PASS or FAIL for each case. Exit codes: 0 all passed, 1 some failed, 2 usage.
 */
#include <linux/filter.h>

#include "tests/net/peer/rdmap.h"

#define MANY 1000

static const char *open_as(int role, const char *options)
{
	struct fpdu f;

	TRY(role == 'r' ? open_responder(options) : open_initiator(options));
	if (role == 'i') /* a Responder waits for an FPDU (RFC 5044 section 7.1.2 rule 4) */
		TRY(pull_untagged(&f, SEND, 0, 0, 1, 10));
	return warm_up();
}

static const char *await_hold(void)
{
	char line[16] = "";

	for (size_t n = 0; n + 1 < sizeof(line); n++)
		if (read(peer.control, line + n, 1) != 1 || line[n] == '\n')
			break;
	CHECK(!strcmp(line, "held\n"), "%s", line);
	return NULL;
}

/* All arrives, once and in order, also what is behind the hold when we close. On the direct path it stays there. */
static const char *slow(int role)
{
	TRY(open_as(role, "bunch=50"));
	for (uint32_t i = 1; i <= MANY; i++)
		TRY(push_send(SEND, 0, i, 1 + i % 1400));
	return finished("status=0 received=1000 bad=0 many=1 expired=0 sent=none reason=0 "
			"direct=%d",
			peer.direct);
}

/* Buffers that come later than a Send waits on the direct path. */
static const char *late(int role)
{
	TRY(open_as(role, "bunch=10 after=60"));
	for (uint32_t i = 1; i <= 100; i++)
		TRY(push_send(SEND, 0, i, 1 + 14 * i));
	return finished("status=0 received=100 bad=0 many=1 expired=0 sent=none reason=%d "
			"direct=%d",
			peer.direct, peer.direct);
}

/* A buffer at a time, and messages of no octets among them. */
static const char *one_at_a_time(int role)
{
	TRY(open_as(role, "bunch=1"));
	for (uint32_t i = 1; i <= 100; i++)
		TRY(push_send(SEND, 0, i, i % 3 ? 0 : 700));
	return finished("status=0 received=100 bad=0 many=1 expired=0 sent=none reason=0");
}

/*
 * The buffers are those of a shared queue. With `max` the stream has no more than two of them at a time, and goes on
 * when the application has taken completions, too.
 */
static const char *shared(int max)
{
	TRY(open_as('r', max ? "shared=1 max=2 bunch=1" : "shared=1 bunch=50"));
	for (uint32_t i = 1; i <= MANY; i++)
		TRY(push_send(SEND, 0, i, 1 + i % 1400));
	/* Whether the next one is late is not known to a stream that has all that it may have: it does not wait. */
	return finished("status=0 received=1000 bad=0 many=1 expired=0 sent=none %s direct=%d",
			max ? "" : "reason=0", peer.direct);
}

/* No buffer comes in time: the error that it would have been at once. Role s: a Responder with a shared queue. */
static const char *times_out(int role)
{
	const struct ulpdu *m;

	TRY(open_as(role == 's' ? 'r' : role, role == 's' ? "hold=300 shared=1" : "hold=300"));
	m = untagged_ulpdu(LAST | DV, SEND, 0, 0, 1, 0, 10);
	TRY(push_ulpdu(m));
	TRY(pull_terminate("1.2.2D", m));
	return ended("status=-71 received=0 held=1 expired=1 sent=1.2.2MD ddp=202");
}

/* Only the next message can wait. One behind it that is missing never comes. */
static const char *not_the_next(int unused)
{
	const struct ulpdu *m;

	(void)unused;
	TRY(open_as('r', ""));
	m = untagged_ulpdu(LAST | DV, SEND, 0, 0, 2, 0, 10);
	TRY(push_ulpdu(m));
	TRY(pull_terminate("1.2.2D", m));
	return ended("status=-71 held=0 sent=1.2.2MD");
}

/* Without the option, and on the other queues with it. */
static const char *not_held(int queue)
{
	const struct ulpdu *m;

	TRY(open_as('r', queue ? "" : "hold=0"));
	m = queue ? untagged_ulpdu(LAST | DV, READ_REQUEST, 0, 1, 1 + DEPTH, 0, READ_LEN)
		  : untagged_ulpdu(LAST | DV, SEND, 0, 0, 1, 0, 10);
	TRY(push_ulpdu(m));
	TRY(pull_terminate("1.2.2D", m));
	return ended("status=-71 held=0");
}

/* The peer goes while its Send waits: the hold does not keep the connection. */
static const char *peer_resets(int unused)
{
	const struct linger linger = { .l_onoff = 1 };

	(void)unused;
	TRY(open_as('r', "tell=1"));
	TRY(push_send(SEND, 0, 1, 10));
	TRY(await_hold());
	setsockopt(peer.fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	close(peer.fd);
	peer.fd = -1;
	return result("status=-104 received=0 held=1 expired=0 closed=1");
}

/* The application ends the connection, or frees it, while a Send waits. */
static const char *application_ends(int act)
{
	TRY(begin("role=r tell=1 act=%c", act));
	TRY(send_frame(REQUEST, C | S, 2, enhanced(0, 0, DEPTH, DEPTH), 0));
	TRY(expect_frame(REPLY, C | S, 2, enhanced(0, 0, DEPTH, DEPTH), 0));
	TRY(push_send(SEND, 0, 1, 10));
	TRY(await_hold());
	TRY(closed());
	return result("received=0 held=1 expired=0 closed=1");
}

/* A hold of 4 s with keepalive and user timeout of 1 s: the peer lives, and nothing ends it. */
static const char *stays_alive(int role)
{
	TRY(open_as(role, "bunch=2 after=4000 limit=1000"));
	TRY(push_send(SEND, 0, 1, 1000));
	TRY(push_send(SEND, 0, 2, 1000));
	return finished("status=0 received=2 bad=0 held=1 expired=0");
}

/* Behind the hold octets come one at a time, and its buffer when they have. */
static const char *trickles(int role)
{
	uint8_t f[256];
	uint32_t n;

	TRY(open_as(role, "bunch=3 after=1500"));
	TRY(push_send(SEND, 0, 1, 1000));
	for (uint32_t msn = 2; msn <= 3; msn++) {
		n = make_fpdu(f, untagged_ulpdu(LAST | DV, SEND, 0, 0, msn, 0, 100)->u, 118);
		for (uint32_t i = 0; i < n; i++) {
			TRY(push(f + i, 1));
			usleep(1000);
		}
	}
	return finished("status=0 received=3 bad=0 held=1 expired=0");
}

/* What comes behind the hold is no FPDU: what came before it is received all the same. */
static const char *garbage_behind(int unused)
{
	(void)unused;
	TRY(open_as('r', "bunch=1 tell=1 after=500"));
	TRY(push_send(SEND, 0, 1, 1000));
	TRY(await_hold());
	TRY(push("\0\377\0\377\0\377\0\377", 8));
	TRY(all_acknowledged());
	shutdown(peer.fd, SHUT_WR);
	return result("received=1 bad=0 held=1 expired=0");
}

/* The peer is gone without a word: keepalive ends the connection, not the hold. */
static const char *falls_silent(int role)
{
	struct sock_filter drop = { BPF_RET | BPF_K, 0, 0, 0 };
	const struct sock_fprog all = { 1, &drop };
	int fd;

	TRY(open_as(role, "tell=1 after=50000 limit=1000"));
	TRY(push_send(SEND, 0, 1, 1000));
	TRY(await_hold());
	TRY(all_acknowledged());
	CHECK(!setsockopt(peer.fd, SOL_SOCKET, SO_ATTACH_FILTER, &all, sizeof(all)));
	fd = peer.fd;
	peer.fd = -1;
	TRY(result("status=-110 received=0 held=1 expired=0 closed=1"));
	close(fd);
	return NULL;
}

static const struct test_case all_cases[] = {
	{ "trickles-responder", trickles, 'r' },
	{ "trickles-initiator", trickles, 'i' },
	{ "garbage-behind", garbage_behind, 0 },
	{ "falls-silent-responder", falls_silent, 'r' },
	{ "falls-silent-initiator", falls_silent, 'i' },
	{ "slow-responder", slow, 'r' },
	{ "slow-initiator", slow, 'i' },
	{ "late-responder", late, 'r' },
	{ "late-initiator", late, 'i' },
	{ "one-at-a-time-responder", one_at_a_time, 'r' },
	{ "one-at-a-time-initiator", one_at_a_time, 'i' },
	{ "shared", shared, 0 },
	{ "shared-limited", shared, 1 },
	{ "shared-times-out", times_out, 's' },
	{ "times-out-responder", times_out, 'r' },
	{ "times-out-initiator", times_out, 'i' },
	{ "not-the-next", not_the_next, 0 },
	{ "not-without-the-option", not_held, 0 },
	{ "not-on-queue-1", not_held, 1 },
	{ "peer-resets", peer_resets, 0 },
	{ "application-aborts", application_ends, 'a' },
	{ "application-frees", application_ends, 'f' },
	{ "stays-alive-responder", stays_alive, 'r' },
	{},
};

int main(int argc, char **argv)
{
	open_control(argc, argv);
	run_cases(all_cases);
	return failures > 0;
}
