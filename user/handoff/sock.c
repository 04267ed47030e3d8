// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/seq.h"
#include "base/socket.h"
#include "handoff/sock.h"

/* <linux/tcp.h> has definitions that <netinet/tcp.h> lacks, but not these. */
#define TCP_ESTABLISHED 1
#define TCP_FIN_WAIT1 4
#define TCP_FIN_WAIT2 5

#ifndef TCPI_OPT_USEC_TS
#define TCPI_OPT_USEC_TS 64 /* Linux 6.7 */
#endif

static int repair(int fd, int mode)
{
	return setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &mode, sizeof(mode)) ? -errno : 0;
}

int xiw_sock_allowed(void)
{
	int err, fd = xiw_socket_tcp(AF_INET);

	if (fd < 0)
		fd = xiw_socket_tcp(AF_INET6);
	if (fd < 0)
		return -errno;
	err = repair(fd, TCP_REPAIR_ON);
	close(fd);
	return err;
}

/*
 * The kernel clears SO_REUSEADDR in a repair. Then nobody could listen on the port while this socket is in TIME-WAIT.
 */
static int repair_begin(int fd, int *reuse)
{
	socklen_t len = sizeof(*reuse);

	if (getsockopt(fd, SOL_SOCKET, SO_REUSEADDR, reuse, &len))
		*reuse = 0;
	return repair(fd, TCP_REPAIR_ON);
}

/* `how` is with or without the window probe that plain TCP_REPAIR_OFF sends. Returns @err, or an error of its own. */
static int repair_end(int fd, int how, int reuse, int err)
{
	int off = repair(fd, how);

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse));
	return err ? err : off;
}

/* Works under repair only, and the choice stays when the repair ends. */
static int choose_queue(int fd, int queue)
{
	return setsockopt(fd, IPPROTO_TCP, TCP_REPAIR_QUEUE, &queue, sizeof(queue)) ? -errno : 0;
}

static int queue_seq(int fd, uint32_t *seq)
{
	socklen_t len = sizeof(*seq);

	return getsockopt(fd, IPPROTO_TCP, TCP_QUEUE_SEQ, seq, &len) ? -errno : 0;
}

/* rcv_nxt and the number of octets that have not been read belong together, but both may move between the two calls. */
static int read_receive(int fd, struct xiw_sock_state *s)
{
	uint32_t before;
	int unread, err = choose_queue(fd, TCP_RECV_QUEUE);

	if (err)
		return err;
	do {
		err = queue_seq(fd, &before);
		if (!err && ioctl(fd, SIOCINQ, &unread))
			err = -errno;
		if (!err)
			err = queue_seq(fd, &s->rcv_nxt);
	} while (!err && before != s->rcv_nxt);
	s->copied_seq = s->rcv_nxt - (uint32_t)unread;
	return err;
}

static int read_window(int fd, struct tcp_repair_window *w)
{
	socklen_t len = sizeof(*w);

	return getsockopt(fd, IPPROTO_TCP, TCP_REPAIR_WINDOW, w, &len) ? -errno : 0;
}

static int read_repaired(int fd, struct xiw_sock_state *s)
{
	struct tcp_repair_window w;
	int err = read_receive(fd, s);

	if (!err)
		err = read_window(fd, &w);
	if (!err)
		s->rcv_edge = w.rcv_wup + w.rcv_wnd;
	return err ? err : choose_queue(fd, TCP_SEND_QUEUE);
}

/* The send queue has been chosen, and nobody writes to it meanwhile. `unacked` octets were in it, or are. */
static int read_send(int fd, struct xiw_sock_state *s, int unacked)
{
	uint32_t write_seq;
	int unsent, err = queue_seq(fd, &write_seq);

	if (!err && ioctl(fd, SIOCOUTQNSD, &unsent))
		err = -errno;
	if (err)
		return err;
	s->snd_nxt = write_seq - (uint32_t)unsent;
	s->snd_una = write_seq - (uint32_t)unacked;
	return 0;
}

static uint32_t clock_ticks(const struct xiw_sock_state *s, uint64_t ns)
{
	return (uint32_t)(ns / (s->ts_usec ? 1000 : 1000000));
}

uint32_t xiw_sock_tsval(const struct xiw_sock_state *s, uint64_t now_ns)
{
	return clock_ticks(s, now_ns) + s->ts_offset;
}

static uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* The kernel's clock is CLOCK_MONOTONIC plus an offset of the connection. */
static int read_clock(int fd, struct xiw_sock_state *s)
{
	uint64_t before, after;
	socklen_t len;
	uint32_t val;
	int tries = 100;

	do {
		len = sizeof(val);
		before = clock_ns();
		if (getsockopt(fd, IPPROTO_TCP, TCP_TIMESTAMP, &val, &len))
			return -errno;
		after = clock_ns();
	} while (clock_ticks(s, before) != clock_ticks(s, after) && --tries);
	s->ts_offset = val - clock_ticks(s, before);
	return 0;
}

/*
 * Reads TCP_INFO and the number of octets that are not acknowledged. An acknowledgement that comes in between makes
 * SND.UNA earlier than bytes_acked, so both are read again.
 */
static int read_acked(int fd, struct tcp_info *info, socklen_t *len, int *unacked)
{
	int tries = 8, now;

	do {
		*len = sizeof(*info);
		if (ioctl(fd, SIOCOUTQ, unacked) ||
		    getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, len) || ioctl(fd, SIOCOUTQ, &now))
			return -errno;
	} while (now < *unacked && --tries);
	return 0;
}

/*
 * While a socket under repair has its send queue chosen, TCP counts what it sends as sent, but does not send it, and
 * data that the peer's window allows in such a moment waits for a time-out. So the send queue is chosen last, the
 * repair ends at once, and the queue is read after that.
 */
int xiw_sock_read(int fd, struct xiw_sock_state *s)
{
	struct tcp_info info = {};
	socklen_t len = sizeof(info);
	int err, reuse, unacked;

	*s = (struct xiw_sock_state){};
	err = read_acked(fd, &info, &len, &unacked);
	if (err)
		return err;
	s->ended = info.tcpi_state != TCP_ESTABLISHED && info.tcpi_state != TCP_FIN_WAIT1 &&
		   info.tcpi_state != TCP_FIN_WAIT2;
	s->bytes_acked = (uint32_t)info.tcpi_bytes_acked;
	s->snd_wscale = info.tcpi_snd_wscale;
	s->rcv_wscale = info.tcpi_rcv_wscale;
	s->rcv_mss = (uint16_t)info.tcpi_advmss;
	s->timestamps = info.tcpi_options & TCPI_OPT_TIMESTAMPS;
	s->sack = info.tcpi_options & TCPI_OPT_SACK;
	s->ecn = info.tcpi_options & TCPI_OPT_ECN;
	s->ts_usec = info.tcpi_options & TCPI_OPT_USEC_TS;
	s->ooo = len < offsetof(struct tcp_info, tcpi_rcv_ooopack) + 4 || info.tcpi_rcv_ooopack;
	err = repair_begin(fd, &reuse);
	if (err)
		return err;
	err = repair_end(fd, TCP_REPAIR_OFF_NO_WP, reuse, read_repaired(fd, s));
	if (!err)
		err = read_send(fd, s, unacked);
	if (!err && s->timestamps)
		err = read_clock(fd, s);
	return err;
}

int xiw_sock_peer(int fd, const struct xiw_sock_state *s, uint32_t *snd_una, uint16_t *wnd)
{
	struct tcp_info info = {};
	socklen_t len = sizeof(info);
	uint32_t field;

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		return -errno;
	field = info.tcpi_snd_wnd >> info.tcpi_snd_wscale;
	*snd_una = s->snd_una + ((uint32_t)info.tcpi_bytes_acked - s->bytes_acked);
	*wnd = field < UINT16_MAX ? (uint16_t)field : UINT16_MAX;
	return 0;
}

int xiw_sock_sent(int fd, const struct xiw_sock_state *s, uint32_t *snd_nxt)
{
	uint32_t before, after;
	int tries = 8, unacked, unsent, err;
	uint16_t wnd;

	do {
		err = xiw_sock_peer(fd, s, &before, &wnd);
		if (!err && (ioctl(fd, SIOCOUTQ, &unacked) || ioctl(fd, SIOCOUTQNSD, &unsent)))
			err = -errno;
		if (!err)
			err = xiw_sock_peer(fd, s, &after, &wnd);
	} while (!err && before != after && --tries);
	if (!err)
		*snd_nxt = before + (uint32_t)unacked - (uint32_t)unsent;
	return err;
}

uint64_t xiw_sock_traffic(int fd)
{
	struct tcp_info info = {};
	socklen_t len = sizeof(info);

	getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len);
	return (uint64_t)info.tcpi_segs_out << 32 | info.tcpi_segs_in;
}

/* The number of segments received. */
static uint32_t came(int fd)
{
	return (uint32_t)xiw_sock_traffic(fd);
}

/*
 * The kernel sets the window that we offer only together with the one that the peer offers. If a segment arrived
 * between reading and writing, its window may be undone, and perhaps neither side would ever send again. In that case a
 * window probe asks the peer for it.
 */
int xiw_sock_open_window(int fd, uint32_t window)
{
	int clamp = (int)window, err, reuse, how = TCP_REPAIR_OFF_NO_WP;
	struct tcp_repair_window w;
	uint32_t rcv_nxt, before;

	err = repair_begin(fd, &reuse);
	if (err)
		return err;
	err = choose_queue(fd, TCP_RECV_QUEUE);
	if (!err)
		err = queue_seq(fd, &rcv_nxt);
	before = came(fd);
	if (!err)
		err = read_window(fd, &w);
	if (!err && xiw_seq_after(rcv_nxt + window, w.rcv_wup + w.rcv_wnd)) {
		w.rcv_wnd = rcv_nxt + window - w.rcv_wup;
		if (setsockopt(fd, IPPROTO_TCP, TCP_REPAIR_WINDOW, &w, sizeof(w)))
			err = -errno;
		if (came(fd) != before)
			how = TCP_REPAIR_OFF;
		/* This raises rcv_ssthresh to the new window, so that the kernel goes on offering as much. */
		if (!err && setsockopt(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &clamp, sizeof(clamp)))
			err = -errno;
	}
	return repair_end(fd, how, reuse, err);
}
