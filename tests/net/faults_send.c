// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * faults_send - the plain end of a cell of the fault matrix: an Initiator on the kernel's TCP, which makes the
 * segments, with FPDUs aligned to them, or by turns aligned and not. Checks what flows back.
 *
 *   faults_send [-b MiB] [-s SEED] [-t TURNS] ADDR    TURNS 0: aligned throughout
 *
 * Prints one line of JSON.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ddp/hdr.h"
#include "faults.h"
#include "mpa/startup.h"
#include "mpa/stream.h"
#include "mpa/tx.h"

static struct {
	uint64_t octets, seed;
	unsigned int turns;
} opt = { .octets = 16u << 20, .seed = 1 };

static int sock;
static struct xiw_mpa_stream in;
static uint64_t back_seen, back_wrong, back_messages;

static uint64_t rnd_state;

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
	uint32_t len;

	(void)ctx;
	if (!xiw_mpa_verify(f, v, n))
		die("back: wrong CRC after %llu octets", (unsigned long long)back_seen);
	xiw_mpa_peek(f, v, n, buf, 0, f->ulpdu_len);
	if (xiw_ddp_hdr_decode(&h, buf, f->ulpdu_len, f->ulpdu_len) || !h.tagged ||
	    h.stag != FAULTS_STAG || h.to != back_seen)
		die("back: unexpected segment after %llu octets", (unsigned long long)back_seen);
	len = f->ulpdu_len - h.len;
	back_wrong += faults_wrong(opt.seed ^ FAULTS_BACK_SALT, back_seen / FAULTS_BACK_MSG,
				   buf + h.len, back_seen % FAULTS_BACK_MSG, len);
	back_seen += len;
	back_messages += h.last;
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
			die("send: %s", strerror(errno));
		}
		if (pfd.revents & POLLIN || !len)
			read_back(MSG_DONTWAIT);
	}
}

static int connect_to(const char *host)
{
	struct sockaddr_in6 a6 = { .sin6_family = AF_INET6, .sin6_port = htons(FAULTS_PORT) };
	struct sockaddr_in a4 = { .sin_family = AF_INET, .sin_port = htons(FAULTS_PORT) };
	bool v4 = inet_pton(AF_INET, host, &a4.sin_addr) == 1;
	int on = 1, fd;

	if (!v4 && inet_pton(AF_INET6, host, &a6.sin6_addr) != 1)
		die("%s is no address", host);
	fd = socket(v4 ? AF_INET : AF_INET6, SOCK_STREAM, 0);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
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
	uint64_t msg, msgs; /* under way; in all */
	uint32_t off, len;  /* in it; of it */
	uint64_t sent;	    /* payload octets */
	uint8_t out[512 << 10];
	size_t fill;
};

static bool more(const struct writer *w)
{
	return w->msg < w->msgs;
}

/* One FPDU of at most `ulpdu` octets. */
static void put(struct writer *w, uint32_t ulpdu)
{
	static uint8_t payload[65536];
	struct xiw_ddp_hdr h = { .tagged = !faults_untagged(w->msg), .dv = 1 };
	uint32_t len = ulpdu - (h.tagged ? XIW_DDP_TAGGED_LEN : XIW_DDP_UNTAGGED_LEN);
	uint8_t raw[XIW_DDP_HDR_MAX];

	if (len > w->len - w->off)
		len = w->len - w->off;
	h.last = w->off + len == w->len;
	if (h.tagged) {
		h.stag = FAULTS_STAG;
		h.to = w->msg % FAULTS_SLOTS * FAULTS_MSG_MAX + w->off;
	} else {
		h.msn = faults_msn(w->msg);
		h.mo = w->off;
	}
	faults_fill(opt.seed, w->msg, payload, w->off, len);
	w->fill += xiw_mpa_build(&w->tx, w->out + w->fill, raw, xiw_ddp_hdr_encode(&h, raw),
				 payload, len);
	w->sent += len;
	w->off += len;
	if (h.last) {
		w->msg++;
		w->off = 0;
		w->len = faults_len(opt.seed, w->msg);
	}
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
	while (w->sent < until && more(w)) {
		uint32_t m = mss();

		w->fill = 0;
		while (more(w) && w->fill < 128 << 10) {
			size_t before = w->fill;

			put(w, xiw_mpa_mulpdu(m, w->tx.markers, w->tx.phase));
			if (w->fill - before < m)
				break; /* a short segment: the write must end with it */
		}
		write_all(w->out, w->fill, MSG_EOR);
	}
}

/* FPDUs of any size, written in pieces of any size: segments begin and end anywhere. */
static void misaligned(struct writer *w, uint64_t until)
{
	while (w->sent < until && more(w)) {
		size_t off = 0, n;

		w->fill = 0;
		while (more(w) && w->fill < 64 << 10)
			put(w, 40 + rnd(rnd(4) ? 3000 : 20000));
		while (off < w->fill) {
			n = 1 + rnd(9000);
			if (n > w->fill - off)
				n = w->fill - off;
			write_all(w->out + off, n, rnd(8) ? 0 : MSG_EOR);
			off += n;
		}
	}
}

static void report(const struct writer *w)
{
	struct tcp_info ti = {};
	socklen_t len = sizeof(ti);

	getsockopt(sock, IPPROTO_TCP, TCP_INFO, &ti, &len);
	printf("{\"sent\":%llu,\"messages\":%llu,\"octets_back\":%llu,\"back_messages\":%llu,"
	       "\"back_wrong\":%llu,\"retransmissions\":%u,\"segments\":%u,\"ce_echoed\":%u}\n",
	       (unsigned long long)w->sent, (unsigned long long)w->msg,
	       (unsigned long long)back_seen, (unsigned long long)back_messages,
	       (unsigned long long)back_wrong, ti.tcpi_total_retrans, ti.tcpi_data_segs_out,
	       ti.tcpi_delivered_ce);
}

int main(int argc, char **argv)
{
	static struct writer w;
	uint64_t stretch;
	int o;

	while ((o = getopt(argc, argv, "b:s:t:")) != -1) {
		switch (o) {
		case 'b':
			opt.octets = strtoull(optarg, NULL, 0) << 20;
			break;
		case 's':
			opt.seed = strtoull(optarg, NULL, 0);
			break;
		case 't':
			opt.turns = (unsigned int)strtoul(optarg, NULL, 0);
			break;
		default:
			die("usage: faults_send [-b MiB] [-s SEED] [-t TURNS] ADDR");
		}
	}
	if (argc - optind != 1)
		die("usage: faults_send [-b MiB] [-s SEED] [-t TURNS] ADDR");
	rnd_state = opt.seed;
	sock = connect_to(argv[optind]);
	w.tx = startup();
	w.msgs = faults_count(opt.seed, opt.octets);
	w.len = faults_len(opt.seed, 0);
	if (!opt.turns)
		aligned(&w, UINT64_MAX);
	stretch = opt.octets / (2 * (opt.turns ? opt.turns : 1));
	for (unsigned int turn = 0; more(&w); turn++) {
		uint64_t until = w.sent + stretch / 2 + rnd((uint32_t)stretch);

		if (turn % 2)
			misaligned(&w, until);
		else
			aligned(&w, until);
	}
	shutdown(sock, SHUT_WR);
	while (read_back(0))
		;
	report(&w);
	close(sock);
	xiw_mpa_stream_free(&in);
	return 0;
}
