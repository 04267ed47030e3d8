// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Cases of objects.c: events behind the last one, completions of what was freed, octets that do not follow each
 * other.
 */
#include "tests/net/conn/objects.h"
#include "tests/net/lib/common.h"

#include <errno.h>
#include <unistd.h>

/* ---- events ---------------------------------------------------------------------------------- */

/* A wrong FPDU and the reset behind it come in one turn. */
static bool error_and_reset(void)
{
	for (int i = 0; i < 8; i++) {
		int fd = open_peer();
		struct seen *s = &seen[nseen - 1];

		CHECK(fd >= 0);
		push_tagged(fd, STAG, 0, 100, true);
		UNTIL(as_rdmap || s->written);
		push_tagged(fd, STAG + 1, 0, 100, true);
		reset(fd);
		UNTIL(s->closed);
		run(5);
		CHECK(s->closed == 1 && !s->after);
		CHECK(s->last.status == -EPROTO);
	}
	return true;
}

static uint32_t rnd(uint32_t below)
{
	static uint64_t x = 0x9e3779b9;

	return lcg(&x, below);
}

/* One thing that a peer or the application does. False: the peer is gone. */
static bool hostile_act(struct seen *s, int *fd)
{
	uint8_t f[4096];

	switch (rnd(9)) {
	case 0: /* several in one segment, the last one wrong */
		push(*fd, f, tagged(f, STAG, 0, 10, true));
		push_tagged(*fd, STAG + 1, 0, 10, true);
		break;
	case 1:
		push_tagged(*fd, STAG, SIZE - 1, 2, true);
		break;
	case 2: /* a wrong CRC */
		push(*fd, f, tagged(f, STAG, 0, 10, true) - 1);
		push(*fd, "x", 1);
		break;
	case 3: /* within an FPDU */
		push(*fd, f, tagged(f, STAG, 0, 10, true) / 2);
		shutdown(*fd, SHUT_WR);
		return rnd(2) == 0;
	case 4:
		shutdown(*fd, SHUT_WR);
		return rnd(2) == 0;
	case 5:
		reset(*fd);
		*fd = -1;
		return false;
	case 6:
		xiw_conn_close(s->conn);
		break;
	case 7:
		xiw_conn_abort(s->conn);
		break;
	default:
		run(rnd(3));
	}
	return true;
}

/* Ends of all kinds in all orders, with turns of the engine in between: the last event is XIW_EV_CLOSED. */
static bool hostile_mix(void)
{
	unsigned int closed = 0;

	for (int i = 0; i < CONNS; i++) {
		struct seen *s;
		int fd;

		as_example = rnd(2);
		fd = open_peer();
		CHECK(fd >= 0);
		s = &seen[nseen - 1];
		for (int k = 0; k < 6 && !s->closed && hostile_act(s, &fd); k++)
			;
		if (fd >= 0)
			reset(fd);
		run(3);
		xiw_conn_abort(s->conn);
		UNTIL(s->closed);
		closed += s->closed;
	}
	run(5);
	for (unsigned int i = 0; i < nseen; i++)
		CHECK(seen[i].closed == 1 && !seen[i].after);
	CHECK(closed == CONNS && !strangers);
	return true;
}

/* ---- completions of freed connections -------------------------------------------------------- */

/* XIW_EV_CLOSED does not follow XIW_EV_REFUSED if the application frees the connection in between. */
static bool freed_at_refused(void)
{
	struct sockaddr_in nowhere = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(nowhere);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct xiw_conn *c;

	CHECK(!bind(fd, (struct sockaddr *)&nowhere, len) &&
	      !getsockname(fd, (struct sockaddr *)&nowhere, &len));
	free_at_refused = true;
	for (int i = 0; i < 8; i++) {
		struct seen *s;

		CHECK(!xiw_connect(engine, (struct sockaddr *)&nowhere, len, NULL, &c));
		s = add(c);
		UNTIL(s->refused);
		run(5);
		CHECK(s->events == 1 && !strangers);
	}
	free_at_refused = false;
	close(fd);
	return true;
}

/*
 * Two connections have events in the completion queue, and more than fit, when one of them is freed: all events of the
 * other one come.
 */
static bool freed_with_events_queued(void)
{
	enum { MANY = 3000 };
	struct xiw_completion done;
	struct xiw_conn *freed;
	unsigned int written = 0, closed = 0;
	uint8_t f[64];
	int fd[2];

	for (int i = 0; i < 2; i++) {
		fd[i] = open_peer();
		CHECK(fd[i] >= 0);
	}
	freed = seen[0].conn;
	for (int i = 0; i < MANY; i++)
		for (int k = 0; k < 2; k++) {
			reset_stream();
			push(fd[k], f, tagged(f, STAG, 0, 1, true));
		}
	for (int i = 0; i < 100; i++)
		CHECK(xiw_engine_run(engine, 0) >= 0);
	xiw_conn_free(freed);
	seen[0].conn = NULL;
	for (int i = 0; i < 2000 && (written < MANY || !closed); i++) {
		xiw_engine_run(engine, 1);
		while (xiw_engine_next(engine, &done)) {
			CHECK(done.conn == seen[1].conn && done.event != XIW_EV_REQUEST);
			written += done.event == XIW_EV_WRITTEN;
			closed += done.event == XIW_EV_CLOSED;
		}
		if (written == MANY && !closed)
			xiw_conn_abort(seen[1].conn);
	}
	CHECK(written == MANY && closed == 1);
	close(fd[0]);
	close(fd[1]);
	return true;
}

/* ---- octets that do not follow each other ---------------------------------------------------- */

static bool written_in_pieces(void)
{
	int fd = open_peer();
	struct seen *s = &seen[0];

	CHECK(fd >= 0);
	push_tagged(fd, STAG, 100, 100, false);
	push_tagged(fd, STAG, 200, 1, true);
	UNTIL(s->written == 1);
	CHECK(!s->last.flags && s->last.to == 100 && s->last.length == 101);
	/* The last octet of the region, and a hundred that are neither in front of it nor behind it. */
	push_tagged(fd, STAG, SIZE - 1, 1, false);
	push_tagged(fd, STAG, 0, 100, true);
	UNTIL(s->written == 2);
	CHECK(s->last.flags == XIW_COMPLETION_SCATTERED && s->last.to == SIZE - 1 &&
	      !s->last.length);
	/* Some of them twice. */
	push_tagged(fd, STAG, 0, 100, false);
	push_tagged(fd, STAG, 0, 100, true);
	UNTIL(s->written == 3);
	CHECK(s->last.flags == XIW_COMPLETION_SCATTERED && !s->last.to && !s->last.length);
	push_tagged(fd, STAG, 7, 0, true);
	UNTIL(s->written == 4);
	CHECK(!s->last.flags && !s->last.to && !s->last.length);
	reset(fd);
	UNTIL(s->closed);
	return true;
}

const struct object_case event_cases[] = {
	{ "error-and-reset", error_and_reset, false },
	{ "error-and-reset-rdmap", error_and_reset, true },
	{ "hostile-mix", hostile_mix, false },
	{ "hostile-mix-rdmap", hostile_mix, true },
	{ "freed-at-refused", freed_at_refused, false },
	{ "freed-with-events-queued", freed_with_events_queued, false },
	{ "written-in-pieces", written_in_pieces, false },
	{},
};
