// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Receiver not ready: a peer of plain sockets sends Sends to an application on the library (unready_end.c) that posts
 * no buffer before it must. RFC 5041 section 7.1 makes that an error; with hold_ms the library waits.
 *
 *   unready ADDRESS CONTROL-PORT kernel|direct [CASE]
 *
 * Prints PASS or FAIL for each case. Exit codes: 0 all passed, 1 some failed, 2 usage.
 */
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

/* All arrives, once and in order, also what is behind the hold when we close. */
static const char *slow(int role)
{
	TRY(open_as(role, "bunch=50"));
	for (uint32_t i = 1; i <= MANY; i++)
		TRY(push_send(SEND, 0, i, 1 + i % 1400));
	return finished("status=0 received=1000 bad=0 many=1 expired=0 sent=none reason=%d "
			"direct=%d",
			peer.direct, peer.direct);
}

/* A buffer at a time, and messages of no octets among them. */
static const char *one_at_a_time(int role)
{
	TRY(open_as(role, "bunch=1"));
	for (uint32_t i = 1; i <= 100; i++)
		TRY(push_send(SEND, 0, i, i % 3 ? 0 : 700));
	return finished("status=0 received=100 bad=0 many=1 expired=0 sent=none reason=%d",
			peer.direct);
}

/* No buffer comes in time: the error that it would have been at once. */
static const char *times_out(int role)
{
	const struct ulpdu *m;

	TRY(open_as(role, "hold=300"));
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

static const struct test_case all_cases[] = {
	{ "slow-responder", slow, 'r' },
	{ "slow-initiator", slow, 'i' },
	{ "one-at-a-time-responder", one_at_a_time, 'r' },
	{ "one-at-a-time-initiator", one_at_a_time, 'i' },
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
