// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A peer of plain sockets, written from the RFCs alone (lib/mpa.h), against `xiwarp sink --json --out`: everything
 * that it may send, and every error of DDP (RFC 5041 section 7.2).
 *
 *   peer ADDRESS PORT kernel|direct FLAGS STAG JSON OUT FROM-PORT [0xfffffff8]
 *
 * FLAGS: m and c if the sink asks for Markers and CRCs, or -. JSON and OUT are the sink's files; its buffer of 16 MiB
 * is behind STAG. The last argument is the first MSN of its queues. Prints PASS or FAIL for each case. Exit codes: 0
 * all passed, 1 some failed, 2 usage.
 */
#include "tests/net/peer/peer.h"

/* ---- what a peer may do -------------------------------------------------------------------------- */

static const char *combination(int ours)
{
	uint8_t f[2048];
	uint32_t untagged_octets = 0;
	char got[16];

	TRY(start((uint8_t)ours));
	TRY(prelude(20));
	/* Every alignment to the Markers, and every padding. */
	for (uint32_t i = 0; i < 300; i++)
		TRY(push(f, good(f, LAST, 1 + i * 7 % 1300)));
	for (uint32_t i = 1; i <= 3; i++, untagged_octets += 700)
		TRY(push(f, untagged_segment(f, DV | LAST, i - 1, 1, 0, 700)));
	TRY(end_all(323, 301, 3, untagged_octets));
	CHECK(!strcmp(field("markers_in", got, sizeof(got)), peer.markers_out ? "true" : "false"));
	CHECK(!strcmp(field("markers_out", got, sizeof(got)), peer.markers_in ? "true" : "false"));
	CHECK(!strcmp(field("crc", got, sizeof(got)), peer.crc ? "true" : "false"));
	return NULL;
}

static const char *any_stag(int unused)
{
	(void)unused;
	TRY(start(C));
	TRY(prelude(20));
	return end_all(20, 1, 0, 0);
}

/* The shortest ULPDU with payload: one octet. */
static const char *smallest_payload(int unused)
{
	uint8_t f[64];

	(void)unused;
	TRY(start(C));
	for (int i = 0; i < 100; i++)
		TRY(push(f, good(f, LAST, 1)));
	for (uint32_t msn = 1; msn <= 8; msn++)
		TRY(push(f, untagged_segment(f, DV | LAST, 1, msn, 0, 1)));
	return end_all(108, 100, 8, 8);
}

static const char *largest_ulpdu(int unused)
{
	static uint8_t f[ROOM];

	(void)unused;
	TRY(start(C));
	TRY(prelude(3));
	for (int i = 0; i < 5; i++)
		TRY(push(f, good(f, LAST, ULPDU_MAX - 14)));
	TRY(push(f, untagged_segment(f, DV | LAST, 2, 1, 0, ULPDU_MAX - 18)));
	TRY(push(f, good(f, LAST, 100)));
	return end_anyhow(10, 7, ULPDU_MAX - 18);
}

static uint32_t segments_out(void)
{
	/* As <linux/tcp.h> has it: the C library's is shorter. */
	struct {
		struct tcp_info info;
		uint64_t rates[2], acked, received;
		uint32_t segs_out, segs_in, notsent, min_rtt, data_segs_in, data_segs_out;
	} all = {};
	socklen_t len = sizeof(all);

	getsockopt(peer.fd, IPPROTO_TCP, TCP_INFO, &all, &len);
	return all.data_segs_out;
}

/* Cut into two and into three TCP segments at every octet, each sent on its own. */
#define SPLIT_MAX 36 /* of 10 octets of payload, and a Marker */

static const char *split(int payload)
{
	uint32_t segments, fpdus = 3, n, a, b, i, j;
	uint8_t f[256];

	TRY(start(C));
	TRY(prelude(fpdus));
	segments = segments_out();
	for (a = 1; a < SPLIT_MAX; a++) {
		for (b = a; b < SPLIT_MAX; b++, fpdus++) {
			n = good(f, LAST, (uint32_t)payload);
			CHECK(n <= SPLIT_MAX);
			i = a < n ? a : n;
			j = b < n ? b : n;
			TRY(push(f, i));
			TRY(push(f + i, j - i));
			TRY(push(f + j, n - j));
			segments += 1 + (i < j) + (j < n);
			/* With few in flight, TCP sends each when it is given. */
			if (fpdus % 4 == 3)
				TRY(all_acknowledged());
		}
	}
	TRY(all_acknowledged());
	CHECK(segments_out() >= segments, "%u of %u segments", segments_out(), segments);
	return end_anyhow(fpdus, fpdus - 2, 0);
}

static const char *thousands_in_one_write(int unused)
{
	static uint8_t f[512 * 1024];
	uint32_t n = 0;
	ssize_t sent;

	(void)unused;
	TRY(start(C));
	TRY(prelude(3));
	for (uint32_t i = 0; i < 8000; i++)
		n += good(f + n, LAST, 1 + i % 16);
	sent = send(peer.fd, f, n, MSG_NOSIGNAL);
	CHECK(sent == (ssize_t)n, "%zd of %u octets", sent, n);
	return end_anyhow(8003, 8001, 0);
}

/* RFC 5041 section 5.2: the receiver ignores STag and TO of a zero-length message. */
static const char *zero_length(int unused)
{
	uint8_t f[64];

	(void)unused;
	TRY(start(C));
	TRY(prelude(2));
	TRY(push(f, tagged_segment(f, DV | LAST, 0, 0, 0)));
	TRY(push(f, tagged_segment(f, DV | LAST, ~sink.stag, UINT64_MAX, 0)));
	TRY(push(f, tagged_segment(f, DV | LAST, sink.stag, SIZE, 0)));
	TRY(push(f, untagged_segment(f, DV | LAST, 0, 1, 0, 0)));
	TRY(push(f, untagged_segment(f, DV | LAST, 0, 2, 0, 9)));
	TRY(prelude(1));
	return end_all(8, 5, 2, 9);
}

/* RFC 5044 section 4.1: the field contains anything. */
static const char *crc_off_any_value(int unused)
{
	static const uint32_t values[] = { 0, ~0u, 0x12345678, 0x80000001 };
	uint8_t f[2048];

	(void)unused;
	TRY(start(0));
	for (uint32_t i = 0; i < 200; i++) {
		uint32_t n = good(f, LAST, 100 + i);

		put(f + n - 4, values[i % 4] * (i + 1), 4);
		TRY(push(f, n));
	}
	return end_all(200, 200, 0, 0);
}

/* ---- errors -------------------------------------------------------------------------------------- */

/* The sink refuses the segment and ends the connection. Its report has our DDP header. */
static const char *refused(const uint8_t *f, uint32_t n, const uint8_t *header, int len, int type,
			   int code)
{
	char hex[64] = "";

	for (int i = 0; i < len; i++)
		snprintf(hex + 2 * i, 3, "%02x", header[i]);
	TRY(push(f, n));
	TRY(closed());
	return reported("mpa_error=0 ddp_error=true ddp_error_type=%d ddp_error_code=%d "
			"error_header=%s",
			type, code, hex);
}

static const struct {
	int type, code;
	uint8_t control;
	uint32_t stag, len; /* STag: to be changed so */
	uint64_t to;
} tagged_errors[] = {
	{ 1, 0, DV | LAST, 0x01010101, 100, 0 },
	{ 1, 0, DV | LAST, 0x80000000, 1, 0 },
	{ 1, 1, DV | LAST, 0, 100, SIZE - 99 },
	{ 1, 1, DV | LAST, 0, 1, SIZE },
	{ 1, 1, DV | LAST, 0, 1, UINT64_MAX / 2 },
	{ 1, 3, DV | LAST, 0, 100, UINT64_MAX - 9 },
	{ 1, 3, DV | LAST, 0, 2, UINT64_MAX },
	{ 1, 4, 0 | LAST, 0, 100, 0 },
	{ 1, 4, 2 | LAST, 0, 100, 0 },
	{ 1, 4, 3 | LAST, 0, 100, 0 },
};

static const char *tagged_error(int i)
{
	uint8_t f[2048];
	uint32_t n;

	TRY(start(C));
	TRY(prelude(5));
	n = tagged_segment(f, tagged_errors[i].control, sink.stag ^ tagged_errors[i].stag,
			   tagged_errors[i].to, tagged_errors[i].len);
	return refused(f, n, f + 2, 14, tagged_errors[i].type, tagged_errors[i].code);
}

static const struct {
	int type, code;
	uint8_t control;
	uint32_t qn, msn, mo, len;
} untagged_errors[] = {
	{ 2, 1, DV | LAST, 3, 1, 0, 100 },
	{ 2, 1, DV | LAST, UINT32_MAX, 1, 0, 100 },
	{ 2, 3, DV | LAST, 0, 0, 0, 100 },
	{ 2, 3, DV | LAST, 0, 0x80000000, 0, 100 },
	{ 2, 4, DV | LAST, 0, 1, RECV_SIZE + 1, 100 },
	{ 2, 4, DV | LAST, 0, 1, UINT32_MAX, 100 },
	{ 2, 5, DV | LAST, 0, 1, RECV_SIZE - 99, 100 },
	{ 2, 6, 0 | LAST, 0, 1, 0, 100 },
	{ 2, 6, 3 | LAST, 0, 1, 0, 100 },
};

static const char *untagged_error(int i)
{
	uint8_t f[2048];
	uint32_t n;

	TRY(start(C));
	TRY(prelude(5));
	n = untagged_segment(f, untagged_errors[i].control, untagged_errors[i].qn,
			     untagged_errors[i].msn, untagged_errors[i].mo, untagged_errors[i].len);
	return refused(f, n, f + 2, 18, untagged_errors[i].type, untagged_errors[i].code);
}

/* More messages in one segment than buffers are posted: the application cannot post more in between. */
static const char *no_buffer(int unused)
{
	uint8_t f[2048], header[18];
	uint32_t n = 0, last = 0;

	(void)unused;
	TRY(start(C));
	TRY(prelude(5));
	for (uint32_t msn = 1; msn <= 17; msn++) {
		last = n;
		n += untagged_segment(f + n, DV | LAST, 0, msn, 0, 8);
	}
	memcpy(header, f + last + 2, sizeof(header));
	return refused(f, n, header, sizeof(header), 2, 2);
}

/* MSNs are modulo 2^32 (section 4.3): the sink expects 0xfffffff8 as each queue's first. */
#define NEAR_WRAP 0xfffffff8u

static const char *msn_wraps(int unused)
{
	uint8_t f[2048];

	(void)unused;
	TRY(start(C));
	TRY(prelude(3));
	for (uint32_t i = 0; i < 16; i++)
		for (uint32_t qn = 0; qn < 3; qn++)
			TRY(push(f, untagged_segment(f, DV | LAST, qn, NEAR_WRAP + i, 0, 100)));
	TRY(end_all(3 + 48, 1, 48, 4800));
	return NULL;
}

/* After the wrap, the last MSN before it is old, and one that is 17 ahead has no buffer. */
static const char *msn_wrapped_is_old(int ahead)
{
	uint8_t f[2048];
	uint32_t n;

	TRY(start(C));
	TRY(prelude(3));
	for (uint32_t i = 0; i < 8; i++)
		TRY(push(f, untagged_segment(f, DV | LAST, 0, NEAR_WRAP + i, 0, 100)));
	TRY(all_acknowledged());
	n = untagged_segment(f, DV | LAST, 0, (uint32_t)ahead, 0, 100);
	return refused(f, n, f + 2, 18, 2, 3);
}

/* No DDP segment is so short. */
static const char *short_ulpdu(int len)
{
	static const uint8_t u[18] = { DV | LAST };
	uint8_t f[64];
	uint32_t n;

	TRY(start(C));
	TRY(prelude(5));
	n = make_fpdu(f, u, (uint32_t)len);
	return refused(f, n, f + 2, len, 0, 0);
}

/* RFC 5044 section 8, code 3: the CRC is right, a Marker is not. */
static const char *marker_disagrees(int unused)
{
	uint8_t f[2048];
	uint32_t n, at, crc;

	(void)unused;
	TRY(start(C));
	TRY(prelude(5));
	at = (512 - peer.out % 512) % 512;
	n = good(f, LAST, 1000);
	sink.to -= 1000;
	CHECK(get(f + at, 4) == at);
	f[at + 3] ^= 4;
	crc = crc32c(f, n - 4);
	for (int i = 0; i < 4; i++)
		f[n - 4 + i] = (uint8_t)(crc >> 8 * i);
	TRY(push(f, n));
	TRY(closed());
	TRY(reported("mpa_error=3 ddp_error=false tagged_octets=5000 fpdus=5"));
	return NULL;
}

/* Section 4.4: that one side asks for them is enough. */
static const char *crc_by_peer_alone_bad_crc(int unused)
{
	uint8_t f[2048];
	uint32_t n;

	(void)unused;
	TRY(start(C));
	TRY(prelude(5));
	n = tagged_segment(f, DV | LAST, sink.stag, sink.to, 1000);
	f[n - 1] ^= 1;
	TRY(push(f, n));
	/* More segments, so that TCP learns soon that the one before was not taken. */
	for (uint32_t i = 1; i < 400; i++) {
		n = tagged_segment(f, DV | LAST, sink.stag, sink.to + i * 1000, 1000);
		if (send(peer.fd, f, n, MSG_EOR | MSG_NOSIGNAL) < 0)
			break;
		usleep(2000);
	}
	TRY(closed());
	return reported("mpa_error=2 ddp_error=false crc=true tagged_octets=5000 fpdus=5");
}

/* ---- all of them --------------------------------------------------------------------------------- */

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

static void errors(void)
{
	char name[64];

	for (int i = 0, n = 0; i < COUNT(tagged_errors); i++) {
		n = i && tagged_errors[i].code == tagged_errors[i - 1].code ? n + 1 : 1;
		snprintf(name, sizeof(name), "ddp-error-%d.%d-%d", 1, tagged_errors[i].code, n);
		run_case(name, tagged_error, i);
	}
	for (int i = 0, n = 0; i < COUNT(untagged_errors); i++) {
		n = i && untagged_errors[i].code == untagged_errors[i - 1].code ? n + 1 : 1;
		snprintf(name, sizeof(name), "ddp-error-%d.%d-%d", 2, untagged_errors[i].code, n);
		run_case(name, untagged_error, i);
	}
	run_case("ddp-error-2.2-1", no_buffer, 0);
	run_case("ddp-error-0.0-ulpdu-of-1", short_ulpdu, 1);
	run_case("ddp-error-0.0-ulpdu-of-17", short_ulpdu, 17);
}

int main(int argc, char **argv)
{
	static const char *const combinations[] = { "-", "m", "c", "mc" };
	char name[64];

	if (argc != 9 && (argc != 10 || strtoul(argv[9], NULL, 0) != NEAR_WRAP)) {
		fprintf(stderr,
			"usage: peer ADDRESS PORT kernel|direct FLAGS STAG JSON OUT FROM-PORT "
			"[0xfffffff8]\n");
		return 2;
	}
	peer.control = -1;
	sink.addr.sin_family = AF_INET;
	inet_pton(AF_INET, argv[1], &sink.addr.sin_addr);
	sink.addr.sin_port = htons((uint16_t)atoi(argv[2]));
	peer.direct = !strcmp(argv[3], "direct");
	sink.theirs = (uint8_t)((strchr(argv[4], 'm') ? M : 0) | (strchr(argv[4], 'c') ? C : 0));
	sink.stag = (uint32_t)strtoul(argv[5], NULL, 0);
	sink.json = argv[6];
	sink.out = argv[7];
	sink.from = (uint16_t)atoi(argv[8]);
	if (sink.stag != 0x1234) {
		snprintf(name, sizeof(name), "stag-%s", argv[5]);
		run_case(name, any_stag, 0);
		return failures > 0;
	}
	if (argc == 10) { /* the sink's first MSN */
		run_case("msn-wraps", msn_wraps, 0);
		run_case("msn-before-the-wrap-is-old", msn_wrapped_is_old, -1);
		run_case("msn-behind-the-wrap-is-out-of-range", msn_wrapped_is_old, 100);
		return failures > 0;
	}
	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "sink-%s-peer-%s", argv[4], combinations[i]);
		run_case(name, combination, (i & 1 ? M : 0) | (i & 2 ? C : 0));
	}
	if (sink.theirs == C) {
		run_case("smallest-payload", smallest_payload, 0);
		run_case("largest-ulpdu", largest_ulpdu, 0);
		run_case("split-at-every-octet", split, 10);
		run_case("thousands-in-one-write", thousands_in_one_write, 0);
		run_case("zero-length", zero_length, 0);
		errors();
	} else if (sink.theirs == (M | C)) {
		run_case("marked-largest-ulpdu", largest_ulpdu, 0);
		run_case("marked-split-at-every-octet", split, 10);
		run_case("marked-thousands-in-one-write", thousands_in_one_write, 0);
		run_case("marker-disagrees", marker_disagrees, 0);
	} else if (!sink.theirs) {
		run_case("crc-off-any-value", crc_off_any_value, 0);
		run_case("crc-by-peer-alone-bad-crc", crc_by_peer_alone_bad_crc, 0);
	}
	return failures > 0;
}
