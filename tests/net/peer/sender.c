// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the library's sender puts on the wire, judged by code that shares only the CRC with it.
 *
 *   sender recv [OPTION...] ADDRESS PORT      a Responder made of plain sockets; one connection
 *     -M        ask for markers
 *     -m MSS    announce this maximum segment size (at least 88)
 *     -w BYTES  of receive buffer, and read in small pieces
 *     -b N      answer every Nth message with an untagged one
 *   sender send [OPTION...] IF ADDRESS PORT   an Initiator made from the library, watched on interface IF
 *     -M        the peer asks for markers
 *     -t BYTES  to send (1 MiB), -l A-B: in messages of so many octets (65536-65536), -d N: queued at once (64)
 *     -e EMSS   what it is to be; without, lengths of segments are not judged
 *     -x CMD    run it when half is sent; -E EMSS: what it is to be when three quarters are
 *     -i        one message at a time: each must be on the wire before anything else happens; no more of
 *               them than TCP sends before the first acknowledgement
 *     -P        one FPDU per segment (xiw_conn_opts.no_pack)
 *
 * Both print one line of JSON. Exit codes: 0 no rule broken and all octets arrived, 1 not so, 2 usage.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <xiwarp/xiwarp.h>

#include "crc32c/crc32c.h"

#define STAG 0x1234
#define FPDU_MAX 65800
#define REPLY 100
#define REPLIES 8192

static bool markers;
static unsigned int wrong;

static void die(const char *what, int err)
{
	fprintf(stderr, "sender: %s: %s\n", what, strerror(err));
	exit(1);
}

#define broken(...) (wrong++ < 10 ? (void)fprintf(stderr, "sender: " __VA_ARGS__) : (void)0)

static uint8_t content(uint64_t at)
{
	return (uint8_t)((at * 2654435761u >> 13) ^ at);
}

static uint32_t get(const uint8_t *p, int n)
{
	uint32_t v = 0;

	while (n--)
		v = v << 8 | *p++;
	return v;
}

static void put(uint8_t *p, uint32_t v, int n)
{
	while (n--) {
		p[n] = (uint8_t)v;
		v >>= 8;
	}
}

/* ---- reading FPDUs, octet by octet (RFC 5044 section 4) -------------------------------------------- */

struct reader {
	uint64_t pos;		/* of the next octet, from the first FPDU */
	uint8_t raw[FPDU_MAX];	/* the FPDU so far */
	uint8_t data[FPDU_MAX]; /* and without its markers */
	uint32_t raw_len, data_len, markers;
	uint64_t length_at;	      /* position of ULPDU_Length */
	uint64_t to, messages, fpdus; /* what is to come next, and what came */
};

static uint32_t ulpdu_len(const struct reader *r)
{
	return get(r->data, 2);
}

/* The whole FPDU: CRC, and the DDP header (RFC 5041 section 4). */
static void check_fpdu(struct reader *r)
{
	uint32_t len = ulpdu_len(r), crc = xiw_crc32c(0, r->raw, r->raw_len - 4);
	const uint8_t *d = r->data + 2, *c = r->raw + r->raw_len - 4;

	if (crc != (c[0] | c[1] << 8 | c[2] << 16 | (uint32_t)c[3] << 24))
		broken("FPDU %llu: wrong CRC\n", (unsigned long long)r->fpdus);
	if (len < 14 || (d[0] & 0xbf) != 0x81 || get(d + 2, 4) != STAG ||
	    ((uint64_t)get(d + 6, 4) << 32 | get(d + 10, 4)) != r->to) {
		broken("FPDU %llu: not the tagged segment that is to come\n",
		       (unsigned long long)r->fpdus);
		return;
	}
	for (uint32_t i = 14; i < len; i++)
		if (d[i] != content(r->to + i - 14)) {
			broken("wrong content at %llu\n", (unsigned long long)r->to);
			break;
		}
	r->to += len - 14;
	r->messages += d[0] >> 6 & 1;
}

/* True: the octet completes an FPDU, which begin_fpdu() lets go of. */
static bool read_octet(struct reader *r, uint8_t octet)
{
	bool marker = markers && r->pos % 512 < 4;

	r->raw[r->raw_len++] = octet;
	r->pos++;
	if (marker) {
		if (r->pos % 512 == 4) {
			uint64_t back = r->data_len ? r->pos - 4 - r->length_at : 0;

			r->markers++;
			if (get(r->raw + r->raw_len - 4, 4) != back)
				broken("a wrong marker at %llu\n", (unsigned long long)r->pos - 4);
		}
		return false;
	}
	if (!r->data_len)
		r->length_at = r->pos - 1;
	r->data[r->data_len++] = octet;
	if (r->data_len < 6 || r->data_len < ((2 + ulpdu_len(r) + 3) & ~3u) + 4)
		return false;
	check_fpdu(r);
	r->fpdus++;
	return true;
}

static void begin_fpdu(struct reader *r)
{
	r->raw_len = r->data_len = r->markers = 0;
}

/* ---- the receiver ---------------------------------------------------------------------------------- */

static void read_all(int fd, uint8_t *p, size_t len)
{
	if (recv(fd, p, len, MSG_WAITALL) != (ssize_t)len)
		die("startup", EPROTO);
}

static void start_mpa(int fd)
{
	uint8_t frame[20];

	read_all(fd, frame, sizeof(frame));
	if (memcmp(frame, "MPA ID Req Frame", 16) || frame[17] != 1 || get(frame + 18, 2))
		die("Request", EPROTO);
	memcpy(frame, "MPA ID Rep Frame", 16);
	frame[16] = markers ? 0xc0 : 0x40;
	if (send(fd, frame, sizeof(frame), MSG_NOSIGNAL) != sizeof(frame))
		die("Reply", errno);
}

static void reply(int fd, uint32_t msn)
{
	uint8_t f[2 + 18 + REPLY + 4] = { 0 };
	uint32_t crc;

	put(f, 18 + REPLY, 2);
	f[2] = 0x41; /* untagged, last, version 1 */
	put(f + 12, msn, 4);
	crc = __builtin_bswap32(xiw_crc32c(0, f, sizeof(f) - 4));
	put(f + sizeof(f) - 4, crc, 4);
	if (send(fd, f, sizeof(f), MSG_NOSIGNAL) != sizeof(f))
		die("reply", errno);
}

static int listen_on(const struct addrinfo *a, int mss, int window)
{
	int fd = socket(a->ai_family, SOCK_STREAM, 0), one = 1, conn;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if ((mss && setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &mss, sizeof(mss))) ||
	    (window && setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &window, sizeof(window))) ||
	    bind(fd, a->ai_addr, a->ai_addrlen) || listen(fd, 1))
		die("listen", errno);
	conn = accept(fd, NULL, NULL);
	if (conn < 0)
		die("accept", errno);
	setsockopt(conn, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	close(fd);
	return conn;
}

static void receive(int fd, unsigned int every, size_t piece)
{
	static struct reader r;
	static uint8_t buf[65536];
	uint64_t answered = 0;
	ssize_t n;

	start_mpa(fd);
	while ((n = recv(fd, buf, piece, 0)) > 0)
		for (ssize_t i = 0; i < n; i++) {
			if (!read_octet(&r, buf[i]))
				continue;
			begin_fpdu(&r);
			for (; every && answered < r.messages / every && answered < REPLIES;
			     answered++)
				reply(fd, (uint32_t)answered + 1);
		}
	if (n < 0)
		die("recv", errno);
	if (r.raw_len)
		broken("the stream ends within an FPDU\n");
	printf("{\"fpdus\":%llu,\"messages\":%llu,\"octets\":%llu,\"replies\":%llu,\"wrong\":%u}\n",
	       (unsigned long long)r.fpdus, (unsigned long long)r.messages,
	       (unsigned long long)r.to, (unsigned long long)answered, wrong);
}

/* ---- the wire -------------------------------------------------------------------------------------- */

struct watch {
	int fd;
	uint16_t port;	/* of the peer, network order */
	uint32_t emss;	/* 0: any */
	uint32_t later; /* EMSS when the stream has come to `at`, or 0 */
	uint64_t at;
	uint32_t base, next; /* seq: of the first FPDU, of what was not seen yet */
	uint32_t back;	     /* seq of the peer's data that was not seen yet */
	struct reader reader;
	uint64_t segments, aligned, full, resent, last_bad, longest;
	uint64_t sacked; /* segments with more options than the first */
	uint8_t plain;	 /* data offset of that */
};

static int watch_open(const char *ifname)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK, htons(ETH_P_ALL)), size = 512 << 20;

	at.sll_ifindex = (int)if_nametoindex(ifname);
	if (fd < 0 || !at.sll_ifindex || bind(fd, (struct sockaddr *)&at, sizeof(at)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		die(ifname, errno);
	return fd;
}

/* An FPDU of the segment at stream position `from`; `ends` is where in the segment. */
static void judge_fpdu(const struct watch *w, uint64_t from, uint32_t ends, uint32_t segment)
{
	const struct reader *r = &w->reader;
	uint32_t len = ulpdu_len(r), room = w->emss & ~3u, mulpdu;
	bool last = r->data[2] & 0x40;

	/* Section 4.5: no MULPDU is smaller than 128, whatever the EMSS; what a message has left may be. */
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
	/* Whatever goes on in the next segment has filled its own; a marker at its end is the next FPDU's. */
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
	if (starts && !r->raw_len)
		w->aligned++;
	else
		w->last_bad = w->segments;
}

/* From the peer: what comes again is told in SACK blocks, which make our segments shorter. */
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
			die("octets that were not seen on the wire", EIO);
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

static void watch(struct watch *w)
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

/* ---- the sender ------------------------------------------------------------------------------------ */

struct sender {
	struct watch *w;
	struct xiw_engine *engine;
	struct xiw_conn *conn;
	const uint8_t *octets;
	const char *command;
	uint64_t total, to, done, min, max, queued, sent, replies;
	uint64_t half; /* data segments when the command ran */
	uint32_t random, depth;
	bool open, single;
};

static uint32_t next_length(struct sender *s)
{
	uint64_t left = s->total - s->to, len;

	s->random = s->random * 1664525 + 1013904223;
	len = s->min + (s->random >> 8) % (s->max - s->min + 1);
	return (uint32_t)(len < left ? len : left);
}

static void queue_messages(struct sender *s)
{
	while (s->open && s->to < s->total && s->queued - s->sent < s->depth) {
		struct xiw_message m = { .tagged = true, .stag = STAG, .to = s->to };
		int err;

		m.len = next_length(s);
		m.buf = s->octets + s->to;
		err = xiw_conn_send(s->conn, &m);
		if (err)
			die("send", -err);
		s->to += m.len;
		s->queued++;
	}
	if (s->command && s->done >= s->total / 2) {
		watch(s->w);
		s->half = s->w->segments;
		s->w->emss = 0;
		if (system(s->command))
			broken("%s failed\n", s->command);
		s->command = NULL;
	}
	if (s->open && s->sent == s->queued && s->to == s->total) {
		s->open = false;
		xiw_conn_close(s->conn);
	}
}

static void transmit(struct sender *s)
{
	struct xiw_completion c = { 0 };

	while (c.event != XIW_EV_CLOSED) {
		int n = xiw_engine_run(s->engine, -1);

		if (n < 0)
			die("engine", -n);
		while (c.event != XIW_EV_CLOSED && xiw_engine_next(s->engine, &c)) {
			s->open |= c.event == XIW_EV_CONNECTED;
			s->sent += c.event == XIW_EV_SENT;
			s->done += c.event == XIW_EV_SENT ? c.length : 0;
			s->replies += c.event == XIW_EV_RECEIVED;
		}
		watch(s->w);
		/* Octets that TCP has are on the wire, without anything that would push them. */
		if (s->single && s->w->reader.messages < s->sent)
			broken("message %llu was held back\n", (unsigned long long)s->sent);
		queue_messages(s);
	}
	if (c.status)
		die("closed", -c.status);
}

static void start(struct sender *s, const struct addrinfo *a, bool no_pack)
{
	struct xiw_engine_opts e = { .size = sizeof(e), .app_ring_fd = -1, .path = XIW_USE_KERNEL };
	struct xiw_conn_opts o = {
		.size = sizeof(o), .queues = 1, .recv_depth = REPLIES, .no_pack = no_pack
	};
	static uint8_t buf[REPLY];
	int err;

	o.send_depth = s->depth;
	err = xiw_engine_create(&e, &s->engine);
	if (!err)
		err = xiw_connect(s->engine, a->ai_addr, a->ai_addrlen, &o, &s->conn);
	for (int i = 0; !err && i < REPLIES; i++)
		err = xiw_conn_post_recv(s->conn, 0, buf, sizeof(buf), 0);
	if (err)
		die("start", -err);
}

static void report(const struct sender *s)
{
	struct watch *w = s->w;
	struct xiw_conn_info info;
	struct tpacket_stats st;
	socklen_t len = sizeof(st);

	if (!getsockopt(w->fd, SOL_PACKET, PACKET_STATISTICS, &st, &len) && st.tp_drops)
		broken("%u frames not captured\n", st.tp_drops);
	if (w->reader.to != s->total || w->reader.messages != s->queued || w->reader.raw_len)
		broken("%llu octets of %llu on the wire\n", (unsigned long long)w->reader.to,
		       (unsigned long long)s->total);
	xiw_conn_info(s->conn, &info, sizeof(info));
	printf("{\"segments\":%llu,\"aligned\":%llu,\"full\":%llu,\"longest\":%llu,\"fpdus\":%llu,"
	       "\"messages\":%llu,\"resent\":%llu,\"replies\":%llu,\"emss\":%u,\"half\":%llu,"
	       "\"sacked\":%llu,\"last_unaligned\":%llu,\"wrong\":%u}\n",
	       (unsigned long long)w->segments, (unsigned long long)w->aligned,
	       (unsigned long long)w->full, (unsigned long long)w->longest,
	       (unsigned long long)w->reader.fpdus, (unsigned long long)w->reader.messages,
	       (unsigned long long)w->resent, (unsigned long long)s->replies, info.emss,
	       (unsigned long long)s->half, (unsigned long long)w->sacked,
	       (unsigned long long)w->last_bad, wrong);
}

static void send_all(struct sender *s, const struct addrinfo *a, bool no_pack)
{
	uint8_t *octets = malloc(s->total);

	if (!octets)
		die("memory", ENOMEM);
	for (uint64_t i = 0; i < s->total; i++)
		octets[i] = content(i);
	s->octets = octets;
	start(s, a, no_pack);
	transmit(s);
	watch(s->w);
	report(s);
	xiw_conn_free(s->conn);
	xiw_engine_destroy(s->engine);
	free(octets);
}

static int usage(void)
{
	fprintf(stderr, "usage: sender recv|send [OPTION...] [IF] ADDRESS PORT\n");
	return 2;
}

int main(int argc, char **argv)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST }, *addr;
	static struct watch w;
	struct sender s = { .w = &w, .total = 1 << 20, .min = 65536, .max = 65536, .depth = 64 };
	bool sending = argc > 1 && !strcmp(argv[1], "send"), no_pack = false;
	int opt, mss = 0, window = 0, every = 0;

	if (!sending && (argc < 2 || strcmp(argv[1], "recv")))
		return usage();
	argc--, argv++;
	while ((opt = getopt(argc, argv, sending ? "Mt:l:d:e:E:x:iP" : "Mm:w:b:")) != -1) {
		switch (opt) {
		case 'M':
			markers = true;
			break;
		case 'm':
			mss = atoi(optarg);
			break;
		case 'w':
			window = atoi(optarg);
			break;
		case 'b':
			every = atoi(optarg);
			break;
		case 't':
			s.total = strtoull(optarg, NULL, 0);
			break;
		case 'l':
			if (sscanf(optarg, "%lu-%lu", &s.min, &s.max) != 2 || !s.min ||
			    s.min > s.max)
				return usage();
			break;
		case 'd':
			s.depth = (uint32_t)atoi(optarg);
			break;
		case 'e':
			w.emss = (uint32_t)atoi(optarg);
			break;
		case 'E':
			w.later = (uint32_t)atoi(optarg);
			break;
		case 'x':
			s.command = optarg;
			break;
		case 'i':
			s.single = true;
			s.depth = 1;
			break;
		case 'P':
			no_pack = true;
			break;
		default:
			return usage();
		}
	}
	if (argc - optind != (sending ? 3 : 2) || !s.depth ||
	    getaddrinfo(argv[argc - 2], argv[argc - 1], &hints, &addr))
		return usage();
	w.at = s.total / 4 * 3;
	if (sending) {
		w.fd = watch_open(argv[optind]);
		w.port = htons((uint16_t)atoi(argv[argc - 1]));
		send_all(&s, addr, no_pack);
	} else {
		receive(listen_on(addr, mss, window), (unsigned int)every, window ? 2048 : 65536);
	}
	freeaddrinfo(addr);
	return wrong != 0;
}
