// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Does the library's sender put on the wire what RFC 5044 demands? The code that judges it shares only the CRC.
 *
 *   sender recv [OPTION...] ADDRESS PORT      a Responder made of plain sockets; one connection
 *     -M        ask for markers
 *     -m MSS    announce this maximum segment size (at least 88)
 *     -w BYTES  set the receive buffer, and read in small pieces
 *     -b N      answer every Nth message with an untagged one
 *   sender send [OPTION...] IF ADDRESS PORT   an Initiator made from the library, watched on interface IF
 *     -M        the peer asks for markers
 *     -t BYTES  to send (1 MiB); -l A-B: lengths of messages (65536-65536); -d N: messages queued at once (64)
 *     -e EMSS   the EMSS to expect; without it, lengths of segments are not judged
 *     -x CMD    run CMD when half is sent; -E EMSS: the EMSS to expect when three quarters are
 *     -i        one message at a time: each must be on the wire before anything else happens. TCP must be able to
 *               send all of them before the first acknowledgement
 *     -P        one FPDU per segment (xiw_conn_opts.no_pack)
 *
 * Both print one line of JSON. Exit codes: 0 no rule is broken and all octets arrived, 1 otherwise, 2 usage.
 */
#include "tests/net/peer/sender.h"

#include <getopt.h>
#include <linux/if_packet.h>
#include <unistd.h>

#include <xiwarp/xiwarp.h>

/* ---- the sender ------------------------------------------------------------------------------ */

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
			die("send: %s", strerror(-err));
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
			die("engine: %s", strerror(-n));
		while (c.event != XIW_EV_CLOSED && xiw_engine_next(s->engine, &c)) {
			s->open |= c.event == XIW_EV_CONNECTED;
			s->sent += c.event == XIW_EV_SENT;
			s->done += c.event == XIW_EV_SENT ? c.length : 0;
			s->replies += c.event == XIW_EV_RECEIVED;
		}
		watch(s->w);
		/* TCP sends what it has without further calls. */
		if (s->single && s->w->reader.messages < s->sent)
			broken("message %llu was held back\n", (unsigned long long)s->sent);
		queue_messages(s);
	}
	if (c.status)
		die("closed: %s", strerror(-c.status));
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
		die("start: %s", strerror(-err));
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
	       "\"sacked\":%llu,\"last_unaligned\":%llu,\"probes\":%llu,\"wrong\":%u}\n",
	       (unsigned long long)w->segments, (unsigned long long)w->aligned,
	       (unsigned long long)w->full, (unsigned long long)w->longest,
	       (unsigned long long)w->reader.fpdus, (unsigned long long)w->reader.messages,
	       (unsigned long long)w->resent, (unsigned long long)s->replies, info.emss,
	       (unsigned long long)s->half, (unsigned long long)w->sacked,
	       (unsigned long long)w->last_bad, (unsigned long long)w->probes, wrong);
}

static void send_all(struct sender *s, const struct addrinfo *a, bool no_pack)
{
	uint8_t *octets = malloc(s->total);

	if (!octets)
		die("memory");
	for (uint64_t i = 0; i < s->total; i++)
		octets[i] = stream_octet(i);
	s->octets = octets;
	start(s, a, no_pack);
	transmit(s);
	watch(s->w);
	report(s);
	xiw_conn_free(s->conn);
	xiw_engine_destroy(s->engine);
	free(octets);
}

/* ---- run ------------------------------------------------------------------------------------- */

static int usage(void)
{
	fprintf(stderr, "usage: sender recv|send [OPTION...] [IF] ADDRESS PORT\n");
	return 2;
}

struct options {
	struct sender sender;
	struct watch watch;
	bool no_pack;
	int mss, window, every;
};

static bool set_option(struct options *o, int opt)
{
	struct sender *s = &o->sender;

	switch (opt) {
	case 'M':
		markers = true;
		break;
	case 'm':
		o->mss = atoi(optarg);
		break;
	case 'w':
		o->window = atoi(optarg);
		break;
	case 'b':
		o->every = atoi(optarg);
		break;
	case 't':
		s->total = strtoull(optarg, NULL, 0);
		break;
	case 'l':
		if (sscanf(optarg, "%lu-%lu", &s->min, &s->max) != 2 || !s->min || s->min > s->max)
			return false;
		break;
	case 'd':
		s->depth = (uint32_t)atoi(optarg);
		break;
	case 'e':
		o->watch.emss = (uint32_t)atoi(optarg);
		break;
	case 'E':
		o->watch.later = (uint32_t)atoi(optarg);
		break;
	case 'x':
		s->command = optarg;
		break;
	case 'i':
		s->single = true;
		s->depth = 1;
		break;
	case 'P':
		o->no_pack = true;
		break;
	default:
		return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST }, *addr;
	static struct options o = { .sender = { .w = &o.watch,
						.total = 1 << 20,
						.min = 65536,
						.max = 65536,
						.depth = 64 } };
	bool sending = argc > 1 && !strcmp(argv[1], "send");
	int opt;

	if (!sending && (argc < 2 || strcmp(argv[1], "recv")))
		return usage();
	argc--, argv++;
	while ((opt = getopt(argc, argv, sending ? "Mt:l:d:e:E:x:iP" : "Mm:w:b:")) != -1)
		if (!set_option(&o, opt))
			return usage();
	if (argc - optind != (sending ? 3 : 2) || !o.sender.depth ||
	    getaddrinfo(argv[argc - 2], argv[argc - 1], &hints, &addr))
		return usage();
	o.watch.at = o.sender.total / 4 * 3;
	if (sending) {
		o.watch.fd = watch_open(argv[optind]);
		o.watch.port = htons((uint16_t)atoi(argv[argc - 1]));
		send_all(&o.sender, addr, o.no_pack);
	} else {
		receive(accept_on(addr, o.mss, o.window), (unsigned int)o.every,
			o.window ? 2048 : 65536);
	}
	freeaddrinfo(addr);
	return wrong != 0;
}
