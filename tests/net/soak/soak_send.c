// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * soak_send - the peer of soak_recv, with plain non-blocking sockets. A number of connections is open at all times;
 * each does what its plan (soak.h) says, and then makes room for the next one.
 *
 *   soak_send -n CONNECTIONS -s SECONDS ADDRESS [ADDRESS]
 *
 * With two addresses they take turns. The last line is a report in JSON; exit code 1 if anything was wrong.
 */
#include "tests/net/soak/soak_peer.h"

#include <getopt.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define STUCK_MS 75000 /* later than the receiver, which can tell more */
#define STARTING 256   /* at most so many between connect() and the Reply */

static struct conn *conns;
static bool hurry; /* the time is over: no new connections, and no pauses */
static volatile sig_atomic_t interrupted;

/* ---- what comes back ----------------------------------------------------------------------------- */

static int back_fpdu(void *ctx, const struct xiw_fpdu *f, const struct xiw_vec *v, unsigned int k)
{
	static uint8_t buf[65536];
	struct conn *c = ctx;
	uint32_t want = next_answer(c), len;
	struct xiw_ddp_hdr h;
	struct soak_msg m;

	if (!xiw_mpa_verify(f, v, k))
		return -1;
	xiw_mpa_peek(f, v, k, buf, 0, f->ulpdu_len);
	if (!want || xiw_ddp_hdr_decode(&h, buf, f->ulpdu_len, f->ulpdu_len))
		return -2;
	len = f->ulpdu_len - h.len;
	if (h.tagged != want % 2 || c->back_len + len > want ||
	    h.last != (c->back_len + len == want) ||
	    (h.tagged ? h.stag != SOAK_BACK_STAG || h.to != c->back_off
		      : h.qn || h.mo != c->back_len || h.msn != c->back_msn + 1))
		return -3;
	if (stream_wrong(soak_stream(c->plan.id, SOAK_BACK), c->back_off, buf + h.len, len) >= 0)
		return -4;
	c->back_off += len;
	c->back_len += len;
	send_sum.octets_back += len;
	if (!h.last)
		return 0;
	c->back_msn += !h.tagged;
	c->back_len = 0;
	send_sum.answers++;
	if (c->answers.n < c->plan.n)
		soak_plan_next(&c->answers, &m);
	else
		c->extra++;
	next_answer(c);
	return 0;
}

static void got_reply(struct conn *c, const struct xiw_mpa_frame *f)
{
	struct xiw_mpa_rx rx = { .crc = true };

	if (f->reject != (c->plan.kind == SOAK_REJECT) ||
	    (!f->reject && f->pd_len != sizeof(c->stag)) || f->markers != c->plan.markers)
		send_wrong(c, "a wrong Reply");
	send_sum.starting--;
	if (f->reject) {
		c->state = ENDING;
		shutdown(c->fd, SHUT_WR);
		c->shut = true;
		return;
	}
	memcpy(&c->stag, f->pd, sizeof(c->stag));
	xiw_mpa_stream_init(&c->in, &rx);
	c->tx = (struct xiw_mpa_tx){ .crc = true, .markers = f->markers };
	c->state = RUN;
	c->due_ms = now;
}

/* No octet more than the frame has. */
static ssize_t read_reply(struct conn *c)
{
	size_t need = XIW_MPA_FRAME_HDR;
	struct xiw_mpa_frame f;
	enum xiw_mpa_start s = XIW_MPA_START_MORE;
	ssize_t got = 1;

	while (s == XIW_MPA_START_MORE) {
		xiw_mpa_frame_decode(c->reply, c->reply_len, true, &f, &need);
		got = recv(c->fd, c->reply + c->reply_len, need - c->reply_len, 0);
		if (got <= 0)
			return got;
		c->reply_len += (size_t)got;
		s = xiw_mpa_frame_decode(c->reply, c->reply_len, true, &f, &need);
	}
	if (s == XIW_MPA_START_OK)
		got_reply(c, &f);
	else
		send_wrong(c, "no Reply: %d", s);
	return got;
}

/* False: the connection has ended. */
static bool input(struct conn *c)
{
	static uint8_t buf[256 << 10];
	ssize_t got = 1;
	int err;

	while (got > 0 && c->state != FREE) {
		if (c->state == REPLY) {
			got = read_reply(c);
		} else {
			got = recv(c->fd, buf, sizeof(buf), 0);
			if (got > 0 && c->plan.kind != SOAK_REJECT) {
				err = xiw_mpa_stream_feed(&c->in, buf, (size_t)got, back_fpdu, c);
				if (err) {
					send_wrong(c, "back stream: %d after %llu octets", err,
						   (unsigned long long)c->back_off);
					reset_conn(c);
					return false;
				}
			}
		}
		if (got > 0)
			c->last_ms = now;
	}
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	ended(c, got ? errno : 0);
	return false;
}

/* ---- what goes out ------------------------------------------------------------------------------- */

static uint32_t mss(const struct conn *c)
{
	socklen_t len = sizeof(int);
	int v = 1448;

	getsockopt(c->fd, IPPROTO_TCP, TCP_MAXSEG, &v, &len);
	return (uint32_t)v;
}

static void build(struct conn *c, const struct xiw_ddp_hdr *h, const void *payload, uint32_t len)
{
	uint8_t raw[XIW_DDP_HDR_MAX];

	c->out_len += xiw_mpa_build(&c->tx, c->out + c->out_len, raw, xiw_ddp_hdr_encode(h, raw),
				    payload, len);
}

/* Something that ends the stream with an error. */
static void build_garbage(struct conn *c)
{
	static uint8_t payload[20000];
	struct xiw_ddp_hdr h = { .tagged = true, .dv = 1, .last = true, .stag = c->stag };
	/* Of ULPDU_Length, behind a marker if one is due. */
	unsigned int at = c->tx.markers && !c->tx.phase ? XIW_MPA_MARKER_SIZE : 0;

	switch (c->plan.kind) {
	case SOAK_BAD_STAG:
		h.stag ^= 0x5a5a00;
		break;
	case SOAK_BAD_BOUNDS:
		h.to = SOAK_TAGGED - 100;
		break;
	case SOAK_BAD_VERSION:
		h.dv = 2;
		break;
	case SOAK_BAD_QN:
		h = (struct xiw_ddp_hdr){ .dv = 1, .last = true, .qn = 77, .msn = 1 };
		break;
	case SOAK_NO_BUFFER:
		h = (struct xiw_ddp_hdr){ .dv = 1, .last = true, .qn = 1, .msn = 1 };
		break;
	default:
		break;
	}
	/* A wrong CRC in an FPDU that is larger than a segment: the socket takes it, and TCP does not send it again. */
	build(c, &h, payload,
	      c->plan.id % 3 && c->plan.kind != SOAK_BAD_CRC ? 900 : sizeof(payload));
	if (c->plan.kind == SOAK_BAD_CRC) {
		c->out[c->out_len - 1] ^= 1;
	} else if (c->plan.kind == SOAK_BAD_LENGTH) {
		c->out[at] = c->out[at + 1] = 0xff;
	} else if (c->plan.kind == SOAK_TRUNCATED) {
		c->out_len -= 8;
	}
}

/* Everything is sent. TCP still has something to repeat until the receiver's end comes. */
static void end_of_plan(struct conn *c)
{
	c->state = ENDING;
	if (c->plan.kind == SOAK_RCLOSE || c->shut)
		return;
	shutdown(c->fd, SHUT_WR);
	c->shut = true;
}

/* The next message, or the end. False: nothing to do now. */
static bool next_message(struct conn *c)
{
	bool stop = soak_stops_early(c->plan.kind) && c->plan.kind != SOAK_RABORT &&
		    (c->plan.n >= c->plan.stop || !c->plan.left);

	if (now < c->due_ms && !hurry)
		return false;
	if (c->msg.sync) {
		next_answer(c);
		if (c->answers.n < c->plan.n)
			return false;
		c->msg.sync = false;
	}
	if (stop && c->plan.kind != SOAK_ABORT && !c->said) {
		build_garbage(c);
		c->said = true;
		c->run = c->out_len;
		return true;
	}
	if (c->said || !soak_plan_next(&c->plan, &c->msg)) {
		end_of_plan(c);
		return false;
	}
	c->whole = mix(c->plan.id + c->plan.n) % 8 < c->plan.mixed;
	if (c->msg.tagged)
		xiw_ddp_tx_tagged(&c->cut, c->stag, c->msg.at, c->msg.len, 0);
	else
		xiw_ddp_tx_untagged(&c->ddp, &c->cut, 0, c->msg.len, (const uint8_t[5]){ 0 });
	c->sending = true;
	return true;
}

/* FPDUs of the message; if they are to be aligned, up to the end of a segment. */
static void fill(struct conn *c)
{
	static uint8_t payload[65536];
	uint32_t seg_len = mss(c), before, most;
	struct xiw_ddp_seg s;

	c->out_len = c->out_off = 0;
	while (c->out_len < OUT) {
		most = xiw_mpa_mulpdu(seg_len, c->tx.markers, c->tx.phase);
		if (c->whole)
			most = 200 + (uint32_t)(mix(c->cut.off + c->plan.id) % 9000);
		if (xiw_ddp_tx_next(&c->cut, most, &s) <= 0) {
			c->sending = false;
			send_sum.messages++;
			send_sum.octets += c->msg.len;
			if (c->plan.think_ms)
				c->due_ms = now + mix(c->msg.off + c->plan.id) % c->plan.think_ms;
			break;
		}
		stream_octets(soak_stream(c->plan.id, SOAK_FORWARD), c->msg.off + s.off, payload,
			      s.len);
		before = c->out_len;
		build(c, &s.hdr, payload, s.len);
		if (!c->whole && c->out_len - before < seg_len && !s.hdr.last)
			break;
	}
	c->run = c->out_len;
	if (c->whole && c->out_len > 2000)
		c->run = 1 + (uint32_t)(mix(c->plan.off + c->out_len) % c->out_len);
}

/* False: the connection has ended. */
static bool write_out(struct conn *c)
{
	ssize_t put;

	while (c->out_off < c->out_len) {
		if (c->run <= c->out_off)
			c->run = c->out_len;
		put = send(c->fd, c->out + c->out_off, c->run - c->out_off, MSG_NOSIGNAL | MSG_EOR);
		if (put < 0) {
			if (errno == EAGAIN || errno == EINTR)
				return true;
			ended(c, errno);
			return false;
		}
		c->out_off += (uint32_t)put;
		c->last_ms = now;
	}
	return true;
}

static void output(struct conn *c)
{
	while (c->state == RUN) {
		if (!write_out(c) || c->out_off < c->out_len)
			break;
		/* In the middle of a message, if it is long enough. */
		if (c->plan.kind == SOAK_ABORT &&
		    (c->plan.n > c->plan.stop || (!c->plan.left && !c->sending))) {
			reset_conn(c);
			return;
		}
		c->out_len = c->out_off = 0;
		if (!c->sending && !next_message(c))
			break;
		if (c->sending)
			fill(c);
	}
	if (c->state != FREE && c->writable != (c->out_off < c->out_len))
		watch_socket(c, c->out_off < c->out_len);
}

static void request(struct conn *c)
{
	uint64_t pd[2] = { SOAK_MAGIC, c->plan.id };
	struct xiw_mpa_frame f = {
		.rev = 1, .crc = true, .pd = (uint8_t *)pd, .pd_len = sizeof(pd)
	};
	uint8_t buf[XIW_MPA_FRAME_MAX];
	int len = xiw_mpa_frame_encode(&f, buf, sizeof(buf)), err = 0;
	socklen_t size = sizeof(err);

	getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &err, &size);
	if (err) {
		send_wrong(c, "connect: %s", strerror(err));
		finish_conn(c);
		return;
	}
	c->last_ms = now;
	if (c->plan.kind == SOAK_NO_MPA)
		memcpy(buf, "GET / HTTP/1.0\r\n\r\n", 18);
	if (c->plan.kind != SOAK_NO_REQUEST && send(c->fd, buf, (size_t)len, MSG_NOSIGNAL) != len) {
		send_wrong(c, "Request: %s", strerror(errno));
		finish_conn(c);
		return;
	}
	watch_socket(c, false);
	c->state = REPLY;
	if (c->plan.kind >= SOAK_NO_MPA) {
		c->state = ENDING;
		send_sum.starting--;
		shutdown(c->fd, SHUT_WR);
	}
}

/* ---- the run ------------------------------------------------------------------------------------- */

static void look(struct conn *c)
{
	int unacked = 0;

	if (c->state == RUN && c->out_off == c->out_len)
		output(c);
	if (c->state == FREE || now - c->last_ms <= STUCK_MS)
		return;
	ioctl(c->fd, SIOCOUTQ, &unacked);
	/* A reset that overtakes data is asked for again (RFC 5961 section 3.2), once; that may be lost. */
	if ((c->state == ENDING || c->msg.sync) && !unacked && ends_by_reset(c)) {
		send_sum.lost_resets++;
		finish_conn(c);
		return;
	}
	if (unacked < c->unacked) {
		c->unacked = unacked;
		c->last_ms = now;
		return;
	}
	send_sum.stuck++;
	send_wrong(c, "stuck: %u octets to write, %d not acknowledged, answers to %u of %u",
		   c->out_len - c->out_off, unacked, c->answers.n, c->plan.n);
	reset_conn(c);
}

static void tick(uint64_t start, uint64_t end)
{
	static uint64_t next_print;
	unsigned int budget = STARTING;

	for (struct conn *c = conns; c < conns + send_opt.conns; c++) {
		if (c->state != FREE)
			look(c);
		if (c->state == FREE && !hurry && send_sum.starting < STARTING && budget) {
			begin_conn(c);
			budget--;
		}
	}
	hurry = now >= end || interrupted;
	if (!hurry && send_sum.opened > send_opt.conns &&
	    send_sum.open - send_sum.starting < send_sum.least)
		send_sum.least = send_sum.open - send_sum.starting;
	if (now < next_print)
		return;
	next_print = now + 5000;
	printf("%4llu s: %llu open, %llu opened, %llu starting; %llu messages, %llu MiB, %llu KiB "
	       "back; "
	       "%llu wrong, %llu stuck\n",
	       (unsigned long long)(now - start) / 1000, (unsigned long long)send_sum.open,
	       (unsigned long long)send_sum.opened, (unsigned long long)send_sum.starting,
	       (unsigned long long)send_sum.messages, (unsigned long long)send_sum.octets >> 20,
	       (unsigned long long)send_sum.octets_back >> 10, (unsigned long long)send_sum.wrong,
	       (unsigned long long)send_sum.stuck);
	fflush(stdout);
}

static void event(const struct epoll_event *ev)
{
	struct conn *c = ev->data.ptr;

	if (c->state == FREE)
		return;
	if (c->state == CONNECTING) {
		request(c);
		return;
	}
	if (ev->events & (EPOLLIN | EPOLLERR | EPOLLHUP) && !input(c))
		return;
	output(c);
}
static void on_signal(int sig)
{
	interrupted = sig;
}

static void parse(int argc, char **argv)
{
	int o;

	while ((o = getopt(argc, argv, "n:s:")) != -1) {
		if (o == 'n')
			send_opt.conns = (unsigned int)strtoul(optarg, NULL, 0);
		else if (o == 's')
			send_opt.seconds = strtoull(optarg, NULL, 0);
	}
	while (optind < argc && send_opt.addresses < 2)
		send_opt.address[send_opt.addresses++] = argv[optind++];
	if (!send_opt.addresses || !send_opt.conns) {
		fprintf(stderr, "usage: soak_send -n CONNECTIONS -s SECONDS ADDRESS [ADDRESS]\n");
		exit(2);
	}
}

int main(int argc, char **argv)
{
	struct epoll_event ev[256];
	uint64_t start, end, next_tick = 0;
	int got;

	parse(argc, argv);
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	conns = calloc(send_opt.conns, sizeof(*conns));
	poller = epoll_create1(0);
	if (!conns || poller < 0)
		die_errno("no memory");
	start = now = now_ms();
	end = start + send_opt.seconds * 1000;
	do {
		got = epoll_wait(poller, ev, 256, 5);
		now = now_ms();
		for (int i = 0; i < got; i++)
			event(&ev[i]);
		if (now >= next_tick) {
			tick(start, end);
			next_tick = now + 5;
		}
	} while (!hurry || send_sum.open);
	free(conns);
	send_report();
	return send_sum.wrong != 0;
}
