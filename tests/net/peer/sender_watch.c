// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the Initiator of sender.c puts on the wire, captured at its interface. */
#include "tests/net/peer/sender.h"

#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>

int watch_open(const char *ifname)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK, htons(ETH_P_ALL)), size = 512 << 20;

	at.sll_ifindex = (int)if_nametoindex(ifname);
	if (fd < 0 || !at.sll_ifindex || bind(fd, (struct sockaddr *)&at, sizeof(at)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		die_errno(ifname);
	return fd;
}

/* An FPDU of the segment at stream position `from`; `ends` is where in the segment. */
static void judge_fpdu(const struct watch *w, uint64_t from, uint32_t ends, uint32_t segment)
{
	const struct reader *r = &w->reader;
	uint32_t len = ulpdu_len(r), room = w->emss & ~3u, mulpdu;
	bool last = r->data[2] & 0x40;

	/* Section 4.5: a MULPDU is at least 128, whatever the EMSS. The rest of a message may be shorter. */
	if (!last && len < 128)
		broken("a ULPDU of %u octets that does not end its message\n", len);
	if (!w->emss)
		return;
	mulpdu = room - 6 - 4 * r->markers;
	if (room < 6 + 4 + 128)
		mulpdu = 128;
	if (len > mulpdu)
		broken("a ULPDU of %u octets, above MULPDU %u\n", len, mulpdu);
	if (last || mulpdu == 128)
		return;
	/* A message goes on in the next segment only if it fills this one. A marker at the end is the next FPDU's. */
	if (markers && (from + room - 4) % 512 == 0)
		room -= 4;
	if (ends != segment || segment != room)
		broken("segment of %u octets at phase %llu: a message goes on after %u, room is "
		       "%u\n",
		       segment, (unsigned long long)from % 512, ends, room);
}

static void watch_data(struct watch *w, const uint8_t *p, uint32_t len)
{
	struct reader *r = &w->reader;
	uint64_t from = r->pos;
	bool starts = !r->raw_len;

	if (w->later && r->to >= w->at)
		w->emss = w->later;
	for (uint32_t i = 0; i < len; i++) {
		if (!read_octet(r, p[i]))
			continue;
		if (starts)
			judge_fpdu(w, from, i + 1, len);
		begin_fpdu(r);
	}
	w->segments++;
	w->full += len == w->emss;
	w->longest = len > w->longest ? len : w->longest;
	if (starts && !r->raw_len) {
		w->aligned++;
		return;
	}
	w->last_bad = w->segments;
	w->probes += w->next == w->edge;
}

/* RFC 7323 section 2.2. */
static unsigned int scale_of(const uint8_t *opt, const uint8_t *end)
{
	for (; opt < end && *opt; opt += *opt == 1 ? 1 : opt[1]) {
		if (*opt != 1 && (end - opt < 2 || opt[1] < 2))
			break;
		if (*opt == 3)
			return opt[2];
	}
	return 0;
}

/* What the peer offers. A segment that says less than one before it has come late. */
static void watch_window(struct watch *w, const uint8_t *tcp, size_t header)
{
	const bool syn = tcp[13] & 2;
	uint32_t edge;

	if (syn)
		w->wscale = scale_of(tcp + 20, tcp + header);
	edge = (uint32_t)get(tcp + 8, 4) + ((uint32_t)get(tcp + 14, 2) << (syn ? 0 : w->wscale));
	if (syn || (int32_t)(edge - w->edge) > 0)
		w->edge = edge;
}

/* The peer's data: we answer a retransmission with SACK blocks, which make our segments shorter. */
static void watch_back(struct watch *w, bool syn, uint32_t seq, uint32_t len)
{
	if (syn)
		w->back = seq + 1;
	if (len && seq != w->back)
		w->resent++;
	if ((int32_t)(seq + len - w->back) > 0)
		w->back = seq + len;
}

static void watch_segment(struct watch *w, const uint8_t *p, size_t len, bool outgoing)
{
	size_t ip = p[0] >> 4 == 6 ? 40 : (p[0] & 15) * 4u, tcp;
	uint32_t seq;

	if (p[0] >> 4 == 4 && get(p + 2, 2) < len)
		len = get(p + 2, 2);
	if (p[p[0] >> 4 == 6 ? 6 : 9] != IPPROTO_TCP || len < ip + 20 ||
	    memcmp(p + ip + (outgoing ? 2 : 0), &w->port, 2))
		return;
	tcp = ip + (p[ip + 12] >> 4) * 4u;
	seq = get(p + ip + 4, 4);
	if (!outgoing) {
		watch_window(w, p + ip, tcp - ip);
		watch_back(w, p[ip + 13] & 2, seq, len > tcp ? (uint32_t)(len - tcp) : 0);
		return;
	}
	if (p[ip + 13] & 2) /* SYN; then the Request, which has no Private Data */
		w->base = w->next = seq + 1 + 20;
	if (len <= tcp || (int32_t)(seq - w->base) < 0)
		return;
	if (seq != w->next) {
		w->resent++;
		if ((int32_t)(seq - w->next) > 0)
			die("octets that were not seen on the wire");
		if ((int32_t)(seq + (uint32_t)(len - tcp) - w->next) <= 0)
			return;
		tcp += w->next - seq;
	}
	if (!w->plain)
		w->plain = p[ip + 12];
	w->sacked += p[ip + 12] > w->plain;
	w->next += (uint32_t)(len - tcp);
	watch_data(w, p + tcp, (uint32_t)(len - tcp));
}

void watch(struct watch *w)
{
	static uint8_t packet[65536];
	struct sockaddr_ll from;
	socklen_t size = sizeof(from);
	ssize_t n;

	while ((n = recvfrom(w->fd, packet, sizeof(packet), 0, (struct sockaddr *)&from, &size)) >
	       0)
		if (n >= 40)
			watch_segment(w, packet, (size_t)n, from.sll_pkttype == PACKET_OUTGOING);
}
