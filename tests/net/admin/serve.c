// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A peer of `xiwarp serve` that offers a file and sends none of it.
 *
 *   serve HOST PORT SIZE
 *
 * Prints the GRANT's status and waits until serve ends the connection.
 */
#include "tests/net/lib/plain.h"
#include "tools/xiwarp/xfer.c"

int main(int argc, char **argv)
{
	struct xiw_ddp_hdr h = { .last = true, .dv = 1, .msn = 1 };
	uint8_t message[XIW_XFER_MAX], header[XIW_DDP_HDR_MAX], fpdu[XIW_XFER_MAX + 64];
	struct xiw_xfer offer = { .type = XIW_XFER_OFFER, .mode = 0644, .name = "offered" }, grant;
	struct xiw_mpa_tx tx;
	uint32_t n, hlen;
	uint8_t got[256];
	ssize_t n_got;

	if (argc != 4)
		return 2;
	offer.size = strtoull(argv[3], NULL, 0);
	plain_connect(argv[1], (uint16_t)atoi(argv[2]), NULL);
	tx = plain_startup();
	hlen = xiw_ddp_hdr_encode(&h, header);
	n = xiw_mpa_build(&tx, fpdu, header, hlen, message,
			  (uint32_t)xiw_xfer_encode(&offer, message));
	if (send(plain.sock, fpdu, n, 0) != (ssize_t)n)
		die_errno("send");
	n_got = recv(plain.sock, got, sizeof(got), 0);
	/* Behind the FPDU's length and the header of 18 octets; the CRC is behind it. */
	if (n_got < 2 + 18 + 24 || xiw_xfer_decode(&grant, got + 20, 24))
		die("no GRANT");
	printf("status %u\n", grant.status);
	fflush(stdout);
	while (recv(plain.sock, got, sizeof(got), 0) > 0)
		;
	printf("ended\n");
	return 0;
}
