// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A peer of plain sockets, written from the RFCs alone (lib/mpa.h), against an application (peer_recv.c): what the
 * application is told of messages, errors and half-closes, and what it can do afterwards.
 *
 *   peer_ulp ADDRESS CONTROL-PORT kernel|direct [CASE]
 *
 * Prints PASS or FAIL for each case. Exit codes: 0 all passed, 1 not so, 2 usage.
 */
#include <linux/filter.h>

#include "tests/net/lib/mpa.h"

#define LAST_MESSAGE 3000
#define OWN 0x5678

static const char *good(uint64_t first, unsigned int messages)
{
	uint8_t f[2048];

	for (unsigned int i = 0; i < messages; i++)
		TRY(push(f, tagged_segment(f, DV | LAST, 0x1234, first + i * 1000, 1000)));
	return NULL;
}

static const char *own(uint64_t offset, uint32_t len)
{
	uint8_t f[2048];

	return push(f, tagged_segment(f, DV | LAST, OWN, offset, len));
}

static const char *startup(uint8_t theirs)
{
	TRY(send_frame(REQUEST, C, 1, NULL, 0));
	TRY(expect_frame(REPLY, theirs, 1, NULL, 0));
	peer.markers_out = theirs & M;
	return NULL;
}

/* Everything before the mistake, or the half-close, came by the path that this run is about. */
static const char *told(const char *fmt, ...)
{
	char want[512];
	va_list ap;
	int n = snprintf(want, sizeof(want), "%s=0 ", peer.direct ? "kernel" : "direct");

	va_start(ap, fmt);
	vsnprintf(want + n, sizeof(want) - (size_t)n, fmt, ap);
	va_end(ap);
	return result(want);
}

/* ---- messages ------------------------------------------------------------------------------------ */

/* RFC 5041 sections 4.2, 4.3, 5.4. */
static const char *message_fields(void)
{
	uint8_t f[2048];

	TRY(begin(" "));
	TRY(startup(C));
	TRY(push(f, tagged_segment(f, DV | LAST, 0x1234, 0xabc, 100)));
	TRY(push(f, tagged_segment(f, DV, OWN, 0, 1000)));
	TRY(push(f, tagged_segment(f, DV | LAST, OWN, 1000, 234)));
	TRY(push(f, untagged_segment(f, DV, 2, 1, 0, 1000)));
	TRY(push(f, untagged_segment(f, DV | LAST, 2, 1, 1000, 11)));
	TRY(push(f, untagged_segment(f, DV | LAST, 1, 1, 0, 5)));
	TRY(push(f, untagged_segment(f, DV | LAST, 2, 2, 0, 0)));
	TRY(half_close());
	TRY(closed_orderly());
	return told("status=0 mpa=0 ddp=0 tagged=2 untagged=3 "
		    "fields=1234:abc:100:5a,5678:0:1234:5a,q2:1:1011:a1a2a3a4a5,q1:1:5:a1a2a3a4a5,"
		    "q2:2:0:a1a2a3a4a5,");
}

/* ---- half-close ---------------------------------------------------------------------------------- */

static const char *half_close_told(void)
{
	TRY(begin(" "));
	TRY(startup(C));
	TRY(good(0, 5));
	TRY(half_close());
	TRY(closed_orderly());
	return told("events=CONNECTED,EOF,CLOSED status=0 mpa=0 ddp=0 tagged=5");
}

static const char *half_close_sends_on(void)
{
	TRY(begin("eofsend=50000 delay=50"));
	TRY(startup(C));
	TRY(good(0, 5));
	TRY(half_close());
	TRY(expect_message(1, 50000));
	TRY(closed_orderly());
	return told("events=CONNECTED,EOF,SENT,CLOSED status=0 mpa=0 ddp=0 tagged=5");
}

/* RFC 5041 section 6.2.1: the connection is not closed before the ULP closes it, and then with a FIN. */
static const char *half_close_then_close(void)
{
	TRY(begin("hold=1"));
	TRY(startup(C));
	TRY(good(0, 5));
	TRY(half_close());
	TRY(silent(200));
	TRY(decide_now());
	TRY(closed_orderly());
	return told("events=CONNECTED,EOF,CLOSED status=0 mpa=0 ddp=0 tagged=5");
}

/* ---- errors -------------------------------------------------------------------------------------- */

#define DDP "events=CONNECTED,ERROR,CLOSED mpa=0 ddp=101 tagged=5"

static const char *out_of_bounds(void)
{
	uint8_t f[2048];

	return push(f, tagged_segment(f, DV | LAST, 0x1234, (1 << 20) - 99, 100));
}

static const char *bad_crc(void)
{
	uint8_t f[2048];
	uint32_t n = tagged_segment(f, DV | LAST, 0x1234, 400000, 1000);

	f[n - 1] ^= 1;
	return push(f, n);
}

static const char *bad_marker(void)
{
	uint32_t at = (512 - peer.out % 512) % 512, n, crc;
	uint8_t f[2048];

	n = tagged_segment(f, DV | LAST, 0x1234, 400000, 1000);
	CHECK(get(f + at, 4) == at);
	f[at + 3] ^= 4;
	crc = crc32c(f, n - 4);
	for (int i = 0; i < 4; i++)
		f[n - 4 + i] = (uint8_t)(crc >> 8 * i);
	return push(f, n);
}

/* Segments that may reach a closed connection. */
static void more(unsigned int messages)
{
	uint8_t f[2048];
	uint32_t n;

	for (unsigned int i = 0; i < messages; i++) {
		n = tagged_segment(f, DV | LAST, 0x1234, 500000 + i * 100, 100);
		if (send(peer.fd, f, n, MSG_EOR | MSG_NOSIGNAL) < 0)
			break;
	}
}

static const char *error_header_and_length(void)
{
	TRY(begin(" "));
	TRY(startup(C));
	TRY(good(0, 5));
	TRY(out_of_bounds());
	TRY(closed_orderly());
	return told(DDP " header=c15a0000123400000000000fff9d segment=114");
}

static const char *nothing_after_ddp_error(void)
{
	TRY(begin("delay=200"));
	TRY(startup(C));
	TRY(good(0, 5));
	TRY(out_of_bounds());
	more(20);
	TRY(closed());
	return told(DDP " untagged=0 after=0 touched=0");
}

/* In one segment with it. */
static const char *nothing_behind_ddp_error(void)
{
	uint8_t f[2048];
	uint32_t n;

	TRY(begin("delay=200"));
	TRY(startup(C));
	TRY(good(0, 5));
	n = tagged_segment(f, DV | LAST, 0x1234, (1 << 20) - 99, 100);
	n += tagged_segment(f + n, DV | LAST, 0x1234, 100000, 100);
	n += untagged_segment(f + n, DV | LAST, 0, 1, 0, 100);
	TRY(push(f, n));
	TRY(closed());
	return told(DDP " untagged=0 after=0 touched=0");
}

static const char *nothing_after_crc_error(void)
{
	TRY(begin("delay=200"));
	TRY(startup(C));
	TRY(good(0, 5));
	TRY(bad_crc());
	more(20);
	TRY(closed());
	return told("events=CONNECTED,ERROR,CLOSED mpa=2 ddp=0 tagged=5 untagged=0 after=0");
}

/* 4 buffers on each of 3 queues, one of them used; RFC 5041 section 6.2.2. */
static const char *error_flushes(void)
{
	uint8_t f[2048];

	TRY(begin(" "));
	TRY(startup(C));
	TRY(good(0, 5));
	TRY(push(f, untagged_segment(f, DV | LAST, 1, 1, 0, 5)));
	TRY(out_of_bounds());
	TRY(closed_orderly());
	return told(DDP " untagged=1 flushed=11 flushedbad=0");
}

/* RFC 5041 section 7.1, RFC 5044 section 8: the stream stays until the ULP has sent its last message. */
static const char *last_message(const char *(*mistake)(void), uint8_t theirs, const char *want)
{
	TRY(begin("errsend=%d hold=1 markers=%d", LAST_MESSAGE, !!(theirs & M)));
	TRY(startup(theirs));
	TRY(good(0, 5));
	TRY(mistake());
	TRY(silent(200));
	TRY(decide_now());
	TRY(expect_message(1, LAST_MESSAGE));
	TRY(closed());
	return told("events=CONNECTED,ERROR,SENT,CLOSED tagged=5 after=0 %s", want);
}

static const char *last_message_after_ddp_error(void)
{
	return last_message(out_of_bounds, C, "mpa=0 ddp=101");
}

static const char *last_message_after_crc_error(void)
{
	return last_message(bad_crc, C, "mpa=2 ddp=0");
}

static const char *last_message_after_marker_error(void)
{
	return last_message(bad_marker, M | C, "mpa=3 ddp=0");
}

/* ---- STags --------------------------------------------------------------------------------------- */

static const char *stag_of_this_stream(void)
{
	TRY(begin("bind=1 pd=7 ownpd=7"));
	TRY(startup(C));
	TRY(good(0, 5));
	TRY(own(1, 100));
	TRY(half_close());
	TRY(closed_orderly());
	return told("status=0 mpa=0 ddp=0 tagged=6 owntouched=100");
}

static const char *stag_of_another_stream(void)
{
	struct sockaddr_in a = peer.end;
	const char *why;
	int first;

	TRY(begin("conns=2 bind=1 pd=7 ownpd=7"));
	TRY(startup(C));
	TRY(good(0, 1));
	first = peer.fd;
	a.sin_port = htons((uint16_t)peer.port);
	peer.fd = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(!connect(peer.fd, (struct sockaddr *)&a, sizeof(a)), "%s", strerror(errno));
	prepare(peer.fd);
	TRY(startup(C));
	TRY(good(0, 5));
	TRY(own(1, 100));
	TRY(closed_orderly());
	close(first);
	why = told("events=CONNECTED,ERROR,CLOSED mpa=0 ddp=102 tagged=5 owntouched=0");
	return why;
}

static const char *stag_of_another_domain(void)
{
	TRY(begin("pd=7 ownpd=8"));
	TRY(startup(C));
	TRY(good(0, 5));
	TRY(own(1, 100));
	TRY(closed_orderly());
	return told("events=CONNECTED,ERROR,CLOSED mpa=0 ddp=102 tagged=5 owntouched=0");
}

/* The application's message confirms that. */
static const char *no_longer(const char *how)
{
	TRY(begin("%s=3", how));
	TRY(startup(C));
	TRY(good(0, 1));
	TRY(own(1, 100));
	TRY(own(200, 100));
	TRY(expect_message(1, 8));
	TRY(own(150, 100));
	TRY(closed_orderly());
	return told("status=-71 mpa=0 ddp=100 tagged=3 owntouched=0");
}

static const char *access_revoked(void)
{
	return no_longer("revoke");
}

static const char *region_freed(void)
{
	return no_longer("release");
}

/* ---- time-out ------------------------------------------------------------------------------------ */

/* This peer hears nothing of the application's message, and sends nothing while that is under way. */
static const char *lost_by_timeout(void)
{
	struct sock_filter drop = { BPF_RET | BPF_K, 0, 0, 0 };
	const struct sock_fprog all = { 1, &drop };
	const char *why;
	int fd;

	TRY(begin("send=1000 hold=1 usertimeout=1500"));
	TRY(startup(C));
	TRY(good(0, 1));
	TRY(all_acknowledged());
	CHECK(!setsockopt(peer.fd, SOL_SOCKET, SO_ATTACH_FILTER, &all, sizeof(all)));
	TRY(decide_now());
	fd = peer.fd;
	peer.fd = -1; /* a FIN would be a sign of life */
	why = told("events=CONNECTED,SENT,CLOSED status=-110 mpa=1 ddp=0 tagged=1");
	close(fd);
	return why;
}

static const struct {
	const char *name;
	const char *(*run)(void);
} cases[] = {
	{ "message-fields", message_fields },
	{ "half-close-told", half_close_told },
	{ "half-close-sends-on", half_close_sends_on },
	{ "half-close-then-close", half_close_then_close },
	{ "error-header-and-length", error_header_and_length },
	{ "nothing-after-ddp-error", nothing_after_ddp_error },
	{ "nothing-behind-ddp-error", nothing_behind_ddp_error },
	{ "nothing-after-crc-error", nothing_after_crc_error },
	{ "error-flushes", error_flushes },
	{ "last-message-after-ddp-error", last_message_after_ddp_error },
	{ "last-message-after-crc-error", last_message_after_crc_error },
	{ "last-message-after-marker-error", last_message_after_marker_error },
	{ "stag-of-this-stream", stag_of_this_stream },
	{ "stag-of-another-stream", stag_of_another_stream },
	{ "stag-of-another-domain", stag_of_another_domain },
	{ "access-revoked", access_revoked },
	{ "region-freed", region_freed },
	{ "lost-by-timeout", lost_by_timeout },
};

static const char *nth(int i)
{
	return cases[i].run();
}

int main(int argc, char **argv)
{
	open_control(argc, argv);
	for (int i = 0; i < (int)(sizeof(cases) / sizeof(cases[0])); i++)
		run_case(cases[i].name, nth, i);
	close(peer.control);
	return failures > 0;
}
