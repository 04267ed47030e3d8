// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A peer of `xiwarp serve` that offers a file and sends none of it, or what it must not send.
 *
 *   serve HOST PORT SIZE [rewrite|fill|trickle]
 *
 * Prints the GRANT's status and waits until serve ends the connection. With `rewrite` it fills the windows of the first
 * two GRANTs, waits for the third, before which serve has taken the first window back, and writes there again. With
 * `fill` it waits for SIGUSR1, and then fills each window until a GRANT refuses the rest. With `trickle` it writes an
 * octet of the first window ten times a second.
 */
#include <poll.h>
#include <signal.h>

#include "tests/net/lib/plain.h"
#include "tools/xiwarp/xfer.c"

#define PIECE (16u << 10)

static struct xiw_mpa_tx tx;

static void send_segment(const struct xiw_ddp_hdr *h, const uint8_t *payload, uint32_t len)
{
	static uint8_t fpdu[PIECE + 64];
	uint8_t header[XIW_DDP_HDR_MAX];
	uint32_t hlen = xiw_ddp_hdr_encode(h, header);
	uint32_t n = xiw_mpa_build(&tx, fpdu, header, hlen, payload, len);

	for (uint32_t at = 0; at < n;) {
		ssize_t sent = send(plain.sock, fpdu + at, n - at, MSG_NOSIGNAL);

		if (sent < 0)
			die_errno("send");
		at += (uint32_t)sent;
	}
}

static struct xiw_xfer take_grant(void)
{
	/* The FPDU's length, a DDP header of 18 octets, the GRANT, and the CRC. */
	uint8_t got[2 + 18 + 24 + 4];
	struct xiw_xfer grant;

	if (recv(plain.sock, got, sizeof(got), MSG_WAITALL) != sizeof(got) ||
	    xiw_xfer_decode(&grant, got + 20, 24))
		die("no GRANT");
	return grant;
}

static void write_to(const struct xiw_xfer *grant, uint64_t len)
{
	static const uint8_t octets[PIECE];

	for (uint64_t at = 0; at < len; at += PIECE) {
		struct xiw_ddp_hdr h = { .tagged = true,
					 .last = true,
					 .dv = 1,
					 .stag = grant->stag,
					 .to = grant->base_to + at };

		send_segment(&h, octets, (uint32_t)(len - at < PIECE ? len - at : PIECE));
	}
}

static void rewrite(const struct xiw_xfer *first)
{
	struct xiw_xfer second;

	write_to(first, first->length);
	second = take_grant();
	write_to(&second, second.length);
	take_grant();
	write_to(first, 1);
}

static void fill(struct xiw_xfer grant, const sigset_t *until)
{
	int number;

	sigwait(until, &number);
	while (!grant.status) {
		write_to(&grant, grant.length);
		grant = take_grant();
	}
}

static void trickle(const struct xiw_xfer *grant)
{
	struct pollfd end = { .fd = plain.sock, .events = POLLIN };

	for (uint64_t at = 0; !poll(&end, 1, 100) && at < grant->length; at++) {
		struct xiw_ddp_hdr h = { .tagged = true,
					 .last = true,
					 .dv = 1,
					 .stag = grant->stag,
					 .to = grant->base_to + at };

		send_segment(&h, (const uint8_t *)"", 1);
	}
}

int main(int argc, char **argv)
{
	struct xiw_xfer offer = { .type = XIW_XFER_OFFER, .mode = 0644, .name = "offered" };
	const struct xiw_ddp_hdr h = { .last = true, .dv = 1, .msn = 1 };
	uint8_t message[XIW_XFER_MAX];
	struct xiw_xfer first;
	sigset_t until;

	sigemptyset(&until);
	sigaddset(&until, SIGUSR1);
	sigprocmask(SIG_BLOCK, &until, NULL);
	if (argc != 4 && argc != 5)
		return 2;
	offer.size = strtoull(argv[3], NULL, 0);
	plain_connect(argv[1], (uint16_t)atoi(argv[2]), NULL);
	tx = plain_startup();
	send_segment(&h, message, (uint32_t)xiw_xfer_encode(&offer, message));
	first = take_grant();
	printf("status %u\n", first.status);
	fflush(stdout);
	if (argc == 5 && !strcmp(argv[4], "fill"))
		fill(first, &until);
	else if (argc == 5 && !strcmp(argv[4], "trickle"))
		trickle(&first);
	else if (argc == 5)
		rewrite(&first);
	while (recv(plain.sock, message, sizeof(message), 0) > 0)
		;
	printf("ended\n");
	return 0;
}
