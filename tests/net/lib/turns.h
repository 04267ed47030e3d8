/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A plain end that sends FPDUs by turns aligned to segments and not, and takes what flows back: a tagged stream to
 * STAG, in order from TO 0 on.
 */
#ifndef XIW_TESTS_NET_TURNS_H
#define XIW_TESTS_NET_TURNS_H

#include <poll.h>

#include "tests/net/lib/plain.h"

static struct {
	struct xiw_mpa_tx tx;
	uint64_t sent; /* payload octets */
	bool done;
	uint8_t octets[512 << 10];
	size_t len;
} out;

static uint64_t back_seen; /* payload octets */
static uint64_t rnd_state;

/* What the program has: it makes one FPDU of at most `ulpdu` octets, by put_segment(), and says when all is done. */
static void put(uint32_t ulpdu);
/* And it looks at the payload that comes, at offset back_seen; `last`: a message ends there. */
static void on_back(const uint8_t *payload, uint32_t len, bool last);

static uint32_t rnd(uint32_t below)
{
	rnd_state = rnd_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((rnd_state >> 33) % below);
}

/* ---- what flows back ----------------------------------------------------------------------------- */

static int back_fpdu(void *ctx, const struct xiw_fpdu *f, const struct xiw_vec *v, unsigned int n)
{
	static uint8_t buf[65536];
	struct xiw_ddp_hdr h;

	(void)ctx;
	if (!xiw_mpa_verify(f, v, n))
		die("back: wrong CRC after %llu octets", (unsigned long long)back_seen);
	xiw_mpa_peek(f, v, n, buf, 0, f->ulpdu_len);
	if (xiw_ddp_hdr_decode(&h, buf, f->ulpdu_len, f->ulpdu_len) || !h.tagged ||
	    h.stag != STAG || h.to != back_seen)
		die("back: unexpected segment after %llu octets", (unsigned long long)back_seen);
	on_back(buf + h.len, f->ulpdu_len - h.len, h.last);
	back_seen += f->ulpdu_len - h.len;
	return 0;
}

/* Reads what is there. False at the end of the stream. */
static bool read_back(int flags)
{
	static uint8_t buf[256 << 10];
	ssize_t n = recv(sock, buf, sizeof(buf), flags);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n < 0)
		die_errno("recv");
	if (n && xiw_mpa_stream_feed(&in, buf, (size_t)n, back_fpdu, NULL))
		die("back: framing lost after %llu octets", (unsigned long long)back_seen);
	return n;
}

/* ---- what is sent -------------------------------------------------------------------------------- */

static void write_all(const uint8_t *p, size_t len, int flags)
{
	struct pollfd pfd = { .fd = sock, .events = POLLIN | POLLOUT };

	while (len) {
		ssize_t n = send(sock, p, len, MSG_DONTWAIT | MSG_NOSIGNAL | flags);

		if (n > 0) {
			p += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) {
			poll(&pfd, 1, -1);
		} else {
			die_errno("send");
		}
		if (pfd.revents & POLLIN || !len)
			read_back(MSG_DONTWAIT);
	}
}

static void put_segment(const struct xiw_ddp_hdr *h, const uint8_t *payload, uint32_t len)
{
	uint8_t raw[XIW_DDP_HDR_MAX];

	out.len += xiw_mpa_build(&out.tx, out.octets + out.len, raw, xiw_ddp_hdr_encode(h, raw),
				 payload, len);
	out.sent += len;
}

/* Every segment begins with an FPDU and ends with one. */
static void aligned(uint64_t until)
{
	while (out.sent < until && !out.done) {
		uint32_t m = mss();

		out.len = 0;
		while (out.sent < until && !out.done && out.len < 128 << 10) {
			size_t before = out.len;

			put(xiw_mpa_mulpdu(m, out.tx.markers, out.tx.phase));
			if (out.len - before < m)
				break; /* a short segment: the write must end with it */
		}
		write_all(out.octets, out.len, MSG_EOR);
	}
}

/* FPDUs of any size, written in pieces of any size: segments begin and end anywhere. */
static void misaligned(uint64_t until)
{
	while (out.sent < until && !out.done) {
		size_t off = 0, n;

		out.len = 0;
		while (out.sent < until && !out.done && out.len < 64 << 10)
			put(40 + rnd(rnd(4) ? 3000 : 20000));
		while (off < out.len) {
			n = 1 + rnd(9000);
			if (n > out.len - off)
				n = out.len - off;
			write_all(out.octets + off, n, rnd(8) ? 0 : MSG_EOR);
			off += n;
		}
	}
	/* The next stretch begins a segment of its own. */
}

/* All, in about so many turns of each kind (0: aligned throughout), and then to the end of what flows back. */
static void send_by_turns(uint64_t octets, unsigned int turns, uint64_t seed)
{
	uint64_t stretch = turns ? octets / (2 * turns) : 0;

	rnd_state = seed;
	out.tx = startup();
	for (unsigned int turn = 0; !out.done; turn++) {
		uint64_t until = turns ? out.sent + stretch / 2 + rnd((uint32_t)stretch)
				       : UINT64_MAX;

		if (turn % 2)
			misaligned(until);
		else
			aligned(until);
	}
	shutdown(sock, SHUT_WR);
	while (read_back(0))
		;
}

#endif
