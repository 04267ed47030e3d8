/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the hand-off must know of a kernel TCP socket, and the one thing that it changes there: the window. Everything
 * goes through TCP_REPAIR, which needs CAP_NET_ADMIN.
 */
#ifndef XIW_HANDOFF_SOCK_H
#define XIW_HANDOFF_SOCK_H

#include <stdbool.h>
#include <stdint.h>

struct xiw_sock_state {
	uint32_t rcv_nxt;    /* this and the following are kernel numbers */
	uint32_t copied_seq; /* of the next octet that a read returns */
	uint32_t rcv_edge;   /* right edge of the window last advertised */
	uint32_t snd_nxt;
	uint32_t snd_una; /* SND.UNA, or an earlier value of it */
	uint32_t
		bytes_acked; /* TCP_INFO's count at or after that, modulo 2^32, for xiw_sock_peer() */
	uint16_t rcv_mss;
	uint8_t snd_wscale, rcv_wscale;
	bool timestamps, sack, ecn;
	bool ended; /* the peer has closed its half, or the connection is over: rcv_nxt may count the FIN */
	bool ooo;	    /* has ever received out of order */
	bool ts_usec;	    /* the clock counts microseconds, else milliseconds */
	uint32_t ts_offset; /* our TSval = clock + this */
};

/* May this process use TCP_REPAIR? -EPERM without CAP_NET_ADMIN. */
int xiw_sock_allowed(void);

/*
 * Negative errno; -EPERM without CAP_NET_ADMIN. For a moment the kernel takes for sent, and does not send, what an
 * acknowledgement allows it to, and repeats that by its time-out.
 */
int xiw_sock_read(int fd, struct xiw_sock_state *state);

/*
 * A number that changes with each segment that the socket receives or sends. The kernel counts a segment before it
 * processes it, so whoever finds the same number again finds the same state.
 */
uint64_t xiw_sock_traffic(int fd);

/* What is told of a socket of MPTCP, whose numbers the kernel does not give: TCP_REPAIR is TCP's alone. */
#define XIW_SOCK_MPTCP "the socket is one of MPTCP: make it with IPPROTO_TCP, without mptcpize"

/*
 * Asks, without repair, what the peer last said of our data: its acknowledgement (SND.UNA, or an earlier value of it)
 * and its window field. `state` is of the same socket and may be old. Negative errno of getsockopt(2).
 */
int xiw_sock_peer(int fd, const struct xiw_sock_state *state, uint32_t *snd_una, uint16_t *wnd);

/*
 * Asks, without repair, how far the socket has sent: SND.NXT, or an earlier value of it. `state` is of the same socket
 * and may be old. Negative errno of getsockopt(2) or ioctl(2).
 */
int xiw_sock_sent(int fd, const struct xiw_sock_state *state, uint32_t *snd_nxt);

/*
 * Opens the kernel's receive window at once, so that it reaches @window octets beyond rcv_nxt. Otherwise it opens only
 * as data flows through the socket, and after a fall-back it would be smaller than the window that the engine has
 * advertised. The receive buffer must be large enough.
 */
int xiw_sock_open_window(int fd, uint32_t window);

/*
 * The size of a receive buffer that holds @window octets in segments of any size: the kernel counts its overhead too,
 * which for small segments is several times the payload.
 */
static inline int xiw_sock_buffer(uint32_t window)
{
	return window < INT32_MAX / 4 ? (int)window * 4 : INT32_MAX;
}

/* The value of the connection's timestamp clock now (RFC 7323), in step with the kernel's. */
uint32_t xiw_sock_tsval(const struct xiw_sock_state *state, uint64_t now_ns);

#endif
