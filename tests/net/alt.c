// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * alt - one stream, alternately aligned and misaligned, with data flowing back: does every octet arrive,
 * once, in its place, on whichever path?
 *
 *   alt recv [OPTION...]        Responder, by the library; checks what comes, sends as much back as it can
 *   alt send [OPTION...] ADDR   Initiator, by plain sockets; the kernel's TCP makes the segments
 *
 * The octet at offset n of either stream is a function of n alone, so both ends can check every one.
 * Messages are tagged, of MSG octets, round and round over a buffer of SLOTS messages.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <json-c/json.h>
#include <linux/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <xiwarp/xiwarp.h>

#include "ddp/hdr.h"
#include "mpa/startup.h"
#include "mpa/stream.h"
#include "mpa/tx.h"

#define STAG 0x51000001u
#define MSG (256u << 10)
#define SLOTS 64u
#define PORT 15045

static struct {
	uint64_t octets; /* to send forward */
	unsigned int turns;
	uint64_t seed;
	uint32_t isn;
	bool set_isn, markers, json;
	enum xiw_use_path path;
} opt = { .octets = 1ull << 30, .turns = 220, .seed = 1 };

static void __attribute__((noreturn, format(printf, 1, 2))) die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "alt: ");
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, "\n");
	va_end(ap);
	exit(1);
}

/* The 8 octets at offset 8 * n: splitmix64's output function. */
static uint64_t word_at(uint64_t n)
{
	uint64_t z = (n + opt.seed) * 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static void generate(uint8_t *out, uint64_t off, size_t len)
{
	uint64_t w;

	for (; len && off % 8; len--, off++) {
		w = word_at(off / 8);
		*out++ = ((uint8_t *)&w)[off % 8];
	}
	for (; len >= 8; len -= 8, off += 8, out += 8) {
		w = word_at(off / 8);
		memcpy(out, &w, 8);
	}
	w = word_at(off / 8);
	memcpy(out, &w, len);
}

static void check(const char *what, const uint8_t *got, uint64_t off, size_t len)
{
	static uint8_t want[MSG];

	generate(want, off, len);
	if (!memcmp(got, want, len))
		return;
	for (size_t i = 0; i < len; i++)
		if (got[i] != want[i])
			die("%s: wrong octet at %llu (message offset %zu): %02x, not %02x", what,
			    (unsigned long long)(off + i), i, got[i], want[i]);
}

static uint64_t rnd_state;

static uint32_t rnd(uint32_t below)
{
	rnd_state = rnd_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((rnd_state >> 33) % below);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* ---- the library's end --------------------------------------------------------------------------- */

static uint8_t *ring;
static uint64_t forward, back, back_done;
static uint8_t back_buf[16][MSG];

/* A quarter of what came, so that the stream under test does not starve. */
static void send_back(struct xiw_conn *c)
{
	while (back - back_done < 16 && back * (MSG / 16) <= forward / 4) {
		struct xiw_message m = {
			.buf = back_buf[back % 16],
			.len = MSG / 16,
			.tagged = true,
			.stag = STAG,
			.to = back * (MSG / 16),
		};

		generate(back_buf[back % 16], back * (MSG / 16), MSG / 16);
		if (xiw_conn_send(c, &m))
			return;
		back++;
	}
}

static void on_written(const struct xiw_completion *c)
{
	if (c->stag != STAG || c->to != forward % (MSG * SLOTS) || c->length > MSG)
		die("message with STag %#x, TO %llu, length %llu after %llu octets", c->stag,
		    (unsigned long long)c->to, (unsigned long long)c->length,
		    (unsigned long long)forward);
	check("forward", ring + c->to, forward, c->length);
	forward += c->length;
	/* A second delivery, or a late stray write, would not find what it should overwrite. */
	memset(ring + c->to, 0xee, c->length);
}

static void report(const struct xiw_conn_info *i, double seconds)
{
	struct json_object *o = json_object_new_object(), *why = json_object_new_object();

	json_object_object_add(o, "octets", json_object_new_int64((int64_t)forward));
	json_object_object_add(o, "octets_back",
			       json_object_new_int64((int64_t)back_done * (MSG / 16)));
	json_object_object_add(o, "octets_direct",
			       json_object_new_int64((int64_t)i->octets_direct));
	json_object_object_add(o, "octets_kernel",
			       json_object_new_int64((int64_t)i->octets_kernel));
	json_object_object_add(o, "went_direct", json_object_new_int64((int64_t)i->went_direct));
	json_object_object_add(o, "went_kernel", json_object_new_int64((int64_t)i->went_kernel));
	json_object_object_add(o, "injected", json_object_new_int64((int64_t)i->injected));
	json_object_object_add(o, "acks_sent", json_object_new_int64((int64_t)i->acks_sent));
	json_object_object_add(o, "crc_errors", json_object_new_int64((int64_t)i->crc_errors));
	json_object_object_add(o, "no_direct", json_object_new_string(i->no_direct));
	json_object_object_add(o, "seconds", json_object_new_double(seconds));
	for (unsigned int w = 1; w < XIW_WHY__COUNT; w++)
		if (i->why[w])
			json_object_object_add(why, xiw_reason_name(w),
					       json_object_new_int64(i->why[w]));
	json_object_object_add(o, "why", why);
	why = json_object_new_object();
	for (unsigned int d = 0; xiw_drop_name(d); d++)
		if (i->drops[d])
			json_object_object_add(why, xiw_drop_name(d),
					       json_object_new_int64((int64_t)i->drops[d]));
	json_object_object_add(o, "drops", why);
	printf("%s\n", json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
	json_object_put(o);
}

static int receive(void)
{
	struct xiw_engine_opts eo = { .size = sizeof(eo), .app_ring_fd = -1, .path = opt.path };
	struct xiw_conn_opts co = { .size = sizeof(co), .markers = opt.markers, .send_depth = 16 };
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(PORT) };
	uint32_t stag = STAG;
	struct xiw_region_opts ro = { .size = sizeof(ro), .stag = &stag };
	struct xiw_conn_info info = {};
	struct xiw_engine *e;
	struct xiw_listener *l;
	struct xiw_region *r;
	struct xiw_completion c;
	double start = 0;
	int err;

	ring = mmap(NULL, MSG * SLOTS, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if ((err = xiw_engine_create(&eo, &e)) ||
	    (err = xiw_region_register(e, ring, MSG * SLOTS, &ro, &r)) ||
	    (err = xiw_listen(e, (struct sockaddr *)&any, sizeof(any), &co, &l)))
		die("%s", strerror(-err));
	for (;;) {
		err = xiw_engine_run(e, 1000);
		if (err < 0)
			die("engine: %s", strerror(-err));
		while (xiw_engine_next(e, &c)) {
			switch (c.event) {
			case XIW_EV_REQUEST:
				start = now();
				xiw_conn_accept(c.conn, NULL, 0);
				break;
			case XIW_EV_CONNECTED:
				send_back(c.conn);
				break;
			case XIW_EV_SENT:
				back_done++;
				send_back(c.conn);
				break;
			case XIW_EV_WRITTEN:
				on_written(&c);
				send_back(c.conn);
				break;
			case XIW_EV_ERROR:
				xiw_conn_abort(c.conn);
				break;
			case XIW_EV_EOF:
				/* What is queued still goes out; the sender reads to the end. */
				xiw_conn_close(c.conn);
				break;
			case XIW_EV_CLOSED:
				xiw_conn_info(c.conn, &info, sizeof(info));
				report(&info, now() - start);
				if (c.status)
					die("closed: %s, MPA error %d, DDP error %#x",
					    strerror(-c.status), info.mpa_error, info.ddp_error);
				xiw_conn_free(c.conn);
				xiw_region_free(r);
				xiw_engine_destroy(e);
				return 0;
			default:
				break;
			}
		}
	}
}

/* ---- the plain end ------------------------------------------------------------------------------- */

static int sock;
static struct xiw_mpa_stream in;
static uint64_t back_seen;

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
	check("back", buf + h.len, back_seen, f->ulpdu_len - h.len);
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
		die("recv: %s", strerror(errno));
	if (n && xiw_mpa_stream_feed(&in, buf, (size_t)n, back_fpdu, NULL))
		die("back: framing lost after %llu octets", (unsigned long long)back_seen);
	return n;
}

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
			die("send: %s", strerror(errno));
		}
		if (pfd.revents & POLLIN || !len)
			read_back(MSG_DONTWAIT);
	}
}

static int connect_to(const char *host)
{
	struct sockaddr_in6 a6 = { .sin6_family = AF_INET6, .sin6_port = htons(PORT) };
	struct sockaddr_in a4 = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	bool v4 = inet_pton(AF_INET, host, &a4.sin_addr) == 1;
	int on = 1, off = TCP_REPAIR_OFF_NO_WP, queue = TCP_SEND_QUEUE, fd;

	if (!v4 && inet_pton(AF_INET6, host, &a6.sin6_addr) != 1)
		die("%s is no address", host);
	fd = socket(v4 ? AF_INET : AF_INET6, SOCK_STREAM, 0);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	/* A send queue position set before connect() becomes the initial sequence number. */
	if (opt.set_isn && (setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on)) ||
			    setsockopt(fd, IPPROTO_TCP, TCP_REPAIR_QUEUE, &queue, sizeof(queue)) ||
			    setsockopt(fd, IPPROTO_TCP, TCP_QUEUE_SEQ, &opt.isn, sizeof(opt.isn)) ||
			    setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &off, sizeof(off))))
		die("initial sequence number: %s", strerror(errno));
	if (connect(fd, v4 ? (struct sockaddr *)&a4 : (struct sockaddr *)&a6,
		    v4 ? sizeof(a4) : sizeof(a6)))
		die("connect: %s", strerror(errno));
	return fd;
}

static struct xiw_mpa_tx startup(void)
{
	struct xiw_mpa_frame f = { .rev = 1, .crc = true };
	uint8_t buf[XIW_MPA_FRAME_MAX];
	struct xiw_mpa_rx rx = { .crc = true };
	size_t need = XIW_MPA_FRAME_HDR, have = 0;
	int len = xiw_mpa_frame_encode(&f, buf, sizeof(buf));

	if (send(sock, buf, (size_t)len, 0) != len)
		die("send: %s", strerror(errno));
	do {
		ssize_t n = recv(sock, buf + have, need - have, 0);

		if (n <= 0)
			die("no MPA Reply");
		have += (size_t)n;
	} while (xiw_mpa_frame_decode(buf, have, true, &f, &need) == XIW_MPA_START_MORE);
	xiw_mpa_stream_init(&in, &rx);
	return (struct xiw_mpa_tx){ .crc = true, .markers = f.markers };
}

struct writer {
	struct xiw_mpa_tx tx;
	uint64_t sent; /* payload octets */
	uint8_t out[512 << 10];
	size_t len;
};

/* One FPDU of at most `ulpdu` octets; a message ends at every multiple of MSG. */
static void put(struct writer *w, uint32_t ulpdu)
{
	static uint8_t payload[65536];
	uint32_t len = ulpdu - XIW_DDP_TAGGED_LEN;
	struct xiw_ddp_hdr h = { .tagged = true, .dv = 1, .stag = STAG };
	uint8_t raw[XIW_DDP_HDR_MAX];

	if (len > MSG - w->sent % MSG)
		len = MSG - (uint32_t)(w->sent % MSG);
	if (len > opt.octets - w->sent)
		len = (uint32_t)(opt.octets - w->sent);
	h.to = w->sent % (MSG * SLOTS);
	h.last = (w->sent + len) % MSG == 0 || w->sent + len == opt.octets;
	generate(payload, w->sent, len);
	w->len += xiw_mpa_build(&w->tx, w->out + w->len, raw, xiw_ddp_hdr_encode(&h, raw), payload,
				len);
	w->sent += len;
}

static uint32_t mss(void)
{
	socklen_t len = sizeof(int);
	int v = 1460;

	getsockopt(sock, IPPROTO_TCP, TCP_MAXSEG, &v, &len);
	return (uint32_t)v;
}

/* Every segment begins with an FPDU and ends with one. */
static void aligned(struct writer *w, uint64_t until)
{
	while (w->sent < until) {
		uint32_t m = mss();

		w->len = 0;
		while (w->sent < until && w->len < 128 << 10) {
			size_t before = w->len;

			put(w, xiw_mpa_mulpdu(m, w->tx.markers, w->tx.phase));
			if ((w->len - before) < m)
				break; /* a short segment: the write must end with it */
		}
		write_all(w->out, w->len, MSG_EOR);
	}
}

/* FPDUs of any size, written in pieces of any size: segments begin and end anywhere. */
static void misaligned(struct writer *w, uint64_t until)
{
	while (w->sent < until) {
		size_t off = 0, n;

		w->len = 0;
		while (w->sent < until && w->len < 64 << 10)
			put(w, 40 + rnd(rnd(4) ? 3000 : 20000));
		while (off < w->len) {
			n = 1 + rnd(9000);
			if (n > w->len - off)
				n = w->len - off;
			write_all(w->out + off, n, rnd(8) ? 0 : MSG_EOR);
			off += n;
		}
	}
	/* The next stretch begins a segment of its own. */
}

static int send_all(const char *host)
{
	static struct writer w;
	uint64_t stretch;

	rnd_state = opt.seed;
	sock = connect_to(host);
	w.tx = startup();
	stretch = opt.octets / (2 * opt.turns);
	for (unsigned int turn = 0; w.sent < opt.octets; turn++) {
		uint64_t len = stretch / 2 + rnd((uint32_t)stretch);

		if (len > opt.octets - w.sent)
			len = opt.octets - w.sent;
		if (turn % 2)
			misaligned(&w, w.sent + len);
		else
			aligned(&w, w.sent + len);
	}
	shutdown(sock, SHUT_WR);
	while (read_back(0))
		;
	printf("{\"sent\":%llu,\"octets_back\":%llu}\n", (unsigned long long)w.sent,
	       (unsigned long long)back_seen);
	return back_seen ? 0 : 1;
}

int main(int argc, char **argv)
{
	int o;

	while ((o = getopt(argc, argv, "b:t:s:i:mkd")) != -1) {
		switch (o) {
		case 'b':
			opt.octets = strtoull(optarg, NULL, 0) << 20;
			break;
		case 't':
			opt.turns = (unsigned int)strtoul(optarg, NULL, 0);
			break;
		case 's':
			opt.seed = strtoull(optarg, NULL, 0);
			break;
		case 'i':
			opt.isn = (uint32_t)strtoul(optarg, NULL, 0);
			opt.set_isn = true;
			break;
		case 'm':
			opt.markers = true;
			break;
		case 'k':
			opt.path = XIW_USE_KERNEL;
			break;
		case 'd':
			opt.path = XIW_USE_DIRECT;
			break;
		default:
			die("usage: alt [-b MiB] [-t TURNS] [-s SEED] [-i ISN] [-m] [-k|-d] recv | "
			    "send ADDR");
		}
	}
	if (argc - optind == 1 && !strcmp(argv[optind], "recv"))
		return receive();
	if (argc - optind == 2 && !strcmp(argv[optind], "send"))
		return send_all(argv[optind + 1]);
	die("recv or send ADDR");
}
