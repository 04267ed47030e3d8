// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * wire_crc CAPTURE ADDRESS - did what ADDRESS sent have the right CRCs when it came on the wire?
 *
 * CAPTURE is tcpdump's, of whole packets with IPv4, from the interface of ADDRESS, where new octets are in order. If an
 * octet is sent again, the first one counts. Says which FPDUs had a wrong CRC. The code for that is not the library's,
 * because this judges between the library and its peer.
 *
 * Exit codes: 0 all were right, 1 some were not, 2 usage, 3 the capture is of no use.
 */
#include <arpa/inet.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ETH_LEN 14
#define STARTUP_LEN 20
#define STARTUP_CRC 0x40 /* of the octet at 16 */
#define STREAMS 512
#define PACKET_MAX (256u << 10)

struct packet {
	uint32_t from, to, seq, len;
	uint16_t sport, dport;
	bool syn;
	const uint8_t *payload;
};

/* One direction of a connection. */
struct stream {
	struct packet first; /* its SYN */
	uint32_t next;
	uint8_t *octets;
	uint32_t len, room;
	bool gap;
};

static struct stream streams[STREAMS];
static unsigned int nstreams;

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint16_t be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t crc32c(const uint8_t *p, uint32_t len)
{
	static uint32_t table[256];
	uint32_t crc = ~0u;

	for (uint32_t i = 0; !table[255] && i < 256; i++) {
		table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			table[i] = table[i] & 1 ? table[i] >> 1 ^ 0x82f63b78u : table[i] >> 1;
	}
	while (len--)
		crc = table[(crc ^ *p++) & 255] ^ crc >> 8;
	return ~crc;
}

/* False: it is none of TCP over IPv4. */
static bool read_packet(const uint8_t *frame, uint32_t len, struct packet *p)
{
	const uint8_t *ip = frame + ETH_LEN, *tcp;
	uint32_t ip_len, total, tcp_len;

	if (len < ETH_LEN + 20 || be16(frame + 12) != 0x0800 || ip[9] != 6)
		return false;
	ip_len = (ip[0] & 15u) * 4;
	total = be16(ip + 2);
	tcp = ip + ip_len;
	if (ip_len < 20 || total < ip_len + 20 || ETH_LEN + total > len)
		return false;
	tcp_len = (tcp[12] >> 4) * 4u;
	if (tcp_len < 20 || total < ip_len + tcp_len)
		return false;
	memcpy(&p->from, ip + 12, 4);
	memcpy(&p->to, ip + 16, 4);
	p->sport = be16(tcp);
	p->dport = be16(tcp + 2);
	p->seq = be32(tcp + 4);
	p->syn = tcp[13] & 2;
	p->payload = tcp + tcp_len;
	p->len = total - ip_len - tcp_len;
	return true;
}

/* The newest one, since ports are used again. */
static struct stream *find(uint32_t from, uint32_t to, uint16_t sport, uint16_t dport)
{
	for (unsigned int i = nstreams; i--;) {
		const struct packet *f = &streams[i].first;

		if (f->from == from && f->to == to && f->sport == sport && f->dport == dport)
			return &streams[i];
	}
	return NULL;
}

static void append(struct stream *s, const uint8_t *p, uint32_t len)
{
	if (s->len + len > s->room) {
		s->room = 2 * (s->len + len);
		s->octets = realloc(s->octets, s->room);
		if (!s->octets) {
			perror("wire_crc");
			exit(3);
		}
	}
	memcpy(s->octets + s->len, p, len);
	s->len += len;
	s->next += len;
}

static void take(const struct packet *p)
{
	struct stream *s = find(p->from, p->to, p->sport, p->dport);

	if (p->syn) {
		if ((!s || s->first.seq != p->seq) && nstreams < STREAMS)
			streams[nstreams++] = (struct stream){ .first = *p, .next = p->seq + 1 };
		return;
	}
	if (!s || !p->len || s->gap)
		return;
	if ((int32_t)(p->seq - s->next) > 0)
		s->gap = true; /* the capture lacks a packet */
	else if ((int32_t)(p->seq + p->len - s->next) > 0)
		append(s, p->payload + (s->next - p->seq), p->seq + p->len - s->next);
}

static bool started(const struct stream *s)
{
	return s && s->len >= STARTUP_LEN && !memcmp(s->octets, "MPA ID ", 7);
}

/* Returns how many FPDUs had a wrong CRC. */
static unsigned int judge(const struct stream *s)
{
	const struct packet *f = &s->first;
	const struct stream *other = find(f->to, f->from, f->dport, f->sport);
	unsigned int wrong = 0;
	uint32_t at, fpdus = 0;

	if (!started(s) || !started(other) || !((s->octets[16] | other->octets[16]) & STARTUP_CRC))
		return 0;
	at = STARTUP_LEN + be16(s->octets + 18);
	while (at + 2 <= s->len) {
		const uint8_t *fpdu = s->octets + at;
		uint32_t len = (2u + be16(fpdu) + 3u) & ~3u, crc, sent;

		if (len + 4 > s->len - at)
			break;
		crc = crc32c(fpdu, len);
		sent = (uint32_t)fpdu[len] | (uint32_t)fpdu[len + 1] << 8 |
		       (uint32_t)fpdu[len + 2] << 16 | (uint32_t)fpdu[len + 3] << 24;
		if (crc != sent && !wrong++)
			printf("port %u to %u, FPDU %u, at octet %u: its CRC was %08x, not %08x\n",
			       f->sport, f->dport, fpdus + 1, at, sent, crc);
		fpdus++;
		at += len + 4;
	}
	printf("port %u to %u: %u FPDUs, %u with a wrong CRC%s\n", f->sport, f->dport, fpdus, wrong,
	       s->gap ? ", as far as the capture goes" : "");
	return wrong;
}

int main(int argc, char **argv)
{
	static uint8_t frame[PACKET_MAX];
	uint32_t head[6], record[4];
	unsigned int wrong = 0;
	struct in_addr from;
	struct packet p;
	FILE *f;

	if (argc != 3 || !inet_aton(argv[2], &from)) {
		fprintf(stderr, "usage: wire_crc CAPTURE ADDRESS\n");
		return 2;
	}
	f = fopen(argv[1], "rb");
	/* In the byte order of this machine, with microseconds, from an Ethernet. */
	if (!f || fread(head, sizeof(head), 1, f) != 1 || head[0] != 0xa1b2c3d4 || head[5] != 1) {
		fprintf(stderr, "wire_crc: %s is no capture of an Ethernet\n", argv[1]);
		return 3;
	}
	while (fread(record, sizeof(record), 1, f) == 1 && record[2] <= sizeof(frame) &&
	       fread(frame, 1, record[2], f) == record[2])
		if (read_packet(frame, record[2], &p))
			take(&p);
	fclose(f);
	for (unsigned int i = 0; i < nstreams; i++)
		if (streams[i].first.from == from.s_addr)
			wrong += judge(&streams[i]);
	return wrong > 0;
}
