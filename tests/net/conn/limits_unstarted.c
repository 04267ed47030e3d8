// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Cases of limits.c: connections that have not started: without a Request, or only to say why they cannot. */
#include "tests/net/conn/limits.h"

#include <sys/resource.h>
#include <unistd.h>

#include "mpa/startup.h"

static const char *of_a_listener(void)
{
	const struct xiw_conn_opts opts = unstarted_opts(20, 20);
	int other;

	TRY(open_engine(NULL, &opts));
	other = dial(9, 1);
	idle(100, 1, 0);
	calm();
	CHECK(engine_info().unstarted == 21);
	CHECK(engine_info().unstarted_reset == 80 && t.crowded_out == 80);
	CHECK(t.told_crowded == 1);
	/* At this listener, in the place of the oldest one, and at the other listener. */
	CHECK(served(dial(2, 0)));
	CHECK(served(other));
	return all_back();
}

static const char *of_a_peer(void)
{
	const struct xiw_conn_opts opts = unstarted_opts(1000, 10);
	int first;

	TRY(open_engine(NULL, &opts));
	first = dial(2, 0);
	idle(100, 1, 0);
	calm();
	CHECK(engine_info().unstarted == 11);
	CHECK(served(first));
	CHECK(served(dial(1, 0)));
	return all_back();
}

static const char *of_the_engine(void)
{
	const struct xiw_engine_opts eopts = { .size = sizeof(eopts), .max_unstarted = 30 };
	const struct xiw_conn_opts opts = unstarted_opts(1000, 1000);

	TRY(open_engine(&eopts, &opts));
	idle(50, 1, 0);
	idle(50, 1, 1);
	calm();
	CHECK(engine_info().unstarted == 30);
	CHECK(served(dial(1, 0)) && served(dial(1, 1)));
	return all_back();
}

/* Requests that the application has not answered count, and their connections stay. */
static const char *being_decided(void)
{
	const struct xiw_conn_opts opts = unstarted_opts(10, 10);
	uint8_t reply[XIW_MPA_FRAME_HDR];
	char c;

	TRY(open_engine(NULL, &opts));
	t.mute = true;
	for (int i = 0; i < 10; i++)
		CHECK(request(dial(1, 0)));
	calm();
	CHECK(t.ndeciding == 10);
	CHECK(!take(dial(1, 0), &c, 1)); /* reset */
	CHECK(t.told_crowded == 1 && !t.closed && t.ndeciding == 10);
	for (unsigned int i = 0; i < 10; i++)
		CHECK(!xiw_conn_accept(t.deciding[i], NULL, 0));
	t.ndeciding = 0;
	t.mute = false;
	for (unsigned int i = 0; i < 10; i++)
		CHECK(take(t.fds[i], reply, sizeof(reply)));
	CHECK(served(dial(1, 0)));
	return all_back();
}

/* A peer that knows RFC 6581. */
static bool enhanced_request(int fd)
{
	struct xiw_mpa_frame f = { .rev = 2, .crc = true, .has_enhanced = true };
	uint8_t buf[XIW_MPA_FRAME_MAX];

	return give(fd, buf, (size_t)xiw_mpa_frame_encode(&f, buf, sizeof(buf)));
}

/* The direct path is demanded, and not to be had: connections that are kept only to say so are as cheap to open. */
static const char *that_only_report(void)
{
	struct xiw_conn_opts opts = unstarted_opts(10, 10);
	uint8_t reply[XIW_MPA_FRAME_HDR + XIW_MPA_ENHANCED_SIZE];
	char c;

	opts.path = XIW_USE_DIRECT;
	TRY(open_engine(NULL, &opts));
	for (int i = 0; i < 10; i++) {
		int fd = dial(1, 0);

		CHECK(enhanced_request(fd) && take(fd, reply, sizeof(reply)));
	}
	CHECK(engine_info().unstarted == 10 && !t.nopen && !t.closed);
	CHECK(!take(dial(1, 0), &c, 1)); /* reset */
	return all_back();
}

/*
 * Idle connections use every descriptor: after a while they make way, long before their time limit. The peers' sockets
 * count in RLIMIT_NOFILE as well.
 */
static const char *descriptors(void)
{
	const struct xiw_conn_opts opts = unstarted_opts(1000, 1000);
	struct rlimit old, few;
	int next;
	bool got;

	getrlimit(RLIMIT_NOFILE, &old);
	few = old;
	few.rlim_cur = 129;
	setrlimit(RLIMIT_NOFILE, &few);
	TRY(open_engine(NULL, &opts));
	do {
		idle(1, 1, 0);
		turn(5);
		next = dup(0);
		close(next);
	} while (next < 127);
	/* One more is left for the honest peer's own socket. */
	while ((next = dup(0)) < 128)
		t.fds[t.nfds++] = next;
	close(next);
	got = served(dial(1, 0));
	setrlimit(RLIMIT_NOFILE, &old);
	CHECK(got);
	return all_back();
}

const struct limit_case unstarted_cases[] = {
	{ "unstarted-of-a-listener", of_a_listener },
	{ "unstarted-of-a-peer", of_a_peer },
	{ "unstarted-of-the-engine", of_the_engine },
	{ "unstarted-being-decided", being_decided },
	{ "unstarted-that-only-report", that_only_report },
	{ "unstarted-and-no-descriptors", descriptors },
	{},
};
