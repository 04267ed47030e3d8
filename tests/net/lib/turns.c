// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/net/lib/turns.h"

#include <poll.h>

struct turns turns;

static uint64_t rnd_state;

static uint32_t rnd(uint32_t below)
{
	return lcg(&rnd_state, below);
}

/* ---- what flows back ------------------------------------------------------------------------- */

static int back_fpdu(void *ctx, const struct xiw_fpdu *f, const struct xiw_vec *v, unsigned int n)
{
	static uint8_t buf[65536];
	struct xiw_ddp_hdr h;

	(void)ctx;
	if (!xiw_mpa_verify(f, v, n))
		die("back: wrong CRC after %llu octets", (unsigned long long)turns.back_seen);
	xiw_mpa_peek(f, v, n, buf, 0, f->ulpdu_len);
	if (xiw_ddp_hdr_decode(&h, buf, f->ulpdu_len, f->ulpdu_len) || !h.tagged ||
	    h.stag != turns.stag || h.to != turns.back_seen)
		die("back: unexpected segment after %llu octets",
		    (unsigned long long)turns.back_seen);
	turns.on_back(buf + h.len, f->ulpdu_len - h.len, h.last);
	turns.back_seen += f->ulpdu_len - h.len;
	return 0;
}

/* Reads what is there. False at the end of the stream. */
static bool read_back(int flags)
{
	static uint8_t buf[256 << 10];
	ssize_t n = recv(plain.sock, buf, sizeof(buf), flags);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n < 0)
		die_errno("recv");
	if (n && xiw_mpa_stream_feed(&plain.in, buf, (size_t)n, back_fpdu, NULL))
		die("back: framing lost after %llu octets", (unsigned long long)turns.back_seen);
	return n;
}

/* ---- what is sent ---------------------------------------------------------------------------- */

static void write_all(const uint8_t *p, size_t len, int flags)
{
	struct pollfd pfd = { .fd = plain.sock, .events = POLLIN | POLLOUT };

	while (len) {
		ssize_t n = send(plain.sock, p, len, MSG_DONTWAIT | MSG_NOSIGNAL | flags);

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

void put_segment(const struct xiw_ddp_hdr *h, const uint8_t *payload, uint32_t len)
{
	uint8_t raw[XIW_DDP_HDR_MAX];

	turns.len += xiw_mpa_build(&turns.tx, turns.octets + turns.len, raw,
				   xiw_ddp_hdr_encode(h, raw), payload, len);
	turns.sent += len;
}

/* Every segment begins with an FPDU and ends with one. */
static void aligned(uint64_t until)
{
	while (turns.sent < until && !turns.done) {
		uint32_t m = plain_mss();

		turns.len = 0;
		while (turns.sent < until && !turns.done && turns.len < 128 << 10) {
			size_t before = turns.len;

			turns.put(xiw_mpa_mulpdu(m, turns.tx.markers, turns.tx.phase));
			if (turns.len - before < m)
				break; /* a short segment: the write must end with it */
		}
		write_all(turns.octets, turns.len, MSG_EOR);
	}
}

/* FPDUs of any size, written in pieces of any size: segments begin and end anywhere. */
static void misaligned(uint64_t until)
{
	while (turns.sent < until && !turns.done) {
		size_t off = 0, n;

		turns.len = 0;
		while (turns.sent < until && !turns.done && turns.len < 64 << 10)
			turns.put(40 + rnd(rnd(4) ? 3000 : 20000));
		while (off < turns.len) {
			n = 1 + rnd(9000);
			if (n > turns.len - off)
				n = turns.len - off;
			write_all(turns.octets + off, n, rnd(8) ? 0 : MSG_EOR);
			off += n;
		}
	}
	/* The next stretch begins a segment of its own. */
}

static void to_the_end(void)
{
	shutdown(plain.sock, SHUT_WR);
	while (read_back(0))
		;
}

void send_by_turns(uint64_t octets, unsigned int number, uint64_t seed)
{
	uint64_t stretch = number ? octets / (2 * number) : 0;

	rnd_state = seed;
	turns.tx = plain_startup();
	for (unsigned int turn = 0; !turns.done; turn++) {
		uint64_t until = number ? turns.sent + stretch / 2 + rnd((uint32_t)stretch)
					: UINT64_MAX;

		if (turn % 2)
			misaligned(until);
		else
			aligned(until);
	}
	to_the_end();
}

void send_misaligned(void)
{
	turns.tx = plain_startup();
	misaligned(UINT64_MAX);
	to_the_end();
}
