// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "group/reuseport.h"

#include <errno.h>
#include <linux/filter.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conn/listener.h"

#define NO_SOCKET 0xffffffffu /* no socket has this index: the kernel takes one by the hash */

/* The engine that serves the queue, or n: none. */
static uint32_t engine_of(const struct xiw_group *g, uint32_t queue)
{
	uint32_t i = 0;

	while (i < g->n && !(g->queues[i] >> queue & 1))
		i++;
	return i;
}

/*
 * The kernel numbers the sockets in the order in which they began to listen. skb->queue_mapping is one more than the
 * number of the receive queue where the driver records it (skb_record_rx_queue()), 0 with lo, and on veth what the
 * sender's side has left there. So the choice spreads the work well on a NIC, but is not relied on: who accepts a
 * connection passes it on if XDP has seen its SYN on another engine's queue (xiw_group_accepted()).
 */
static int choose_by_queue(const struct xiw_group *g, int fd)
{
	struct sock_filter code[2 * XIW_MAX_QUEUES + 2] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_QUEUE)),
	};
	struct sock_fprog prog = { .len = 1, .filter = code };

	for (uint32_t q = 0; q < XIW_MAX_QUEUES; q++) {
		const uint32_t i = engine_of(g, q);

		if (i == g->n)
			continue;
		code[prog.len++] =
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, q + 1, 0, 1);
		code[prog.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, i);
	}
	code[prog.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, NO_SOCKET);
	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &prog, sizeof(prog)) ? -errno
											 : 0;
}

/*
 * The first socket listens alone at first, so that it is refused where somebody else listens already, be it another
 * group. Then it shares its port with the others.
 */
static int listen_first(const struct xiw_group *g, const struct xiw_conn_opts *opts, int fd)
{
	const int one = 1;
	int err = xiw_listener_listen(fd, opts->backlog);

	if (err || g->n == 1 || !setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one)))
		return err;
	return -errno;
}

int xiw_reuseport_open(const struct xiw_group *g, const struct xiw_engine *e,
		       const struct xiw_conn_opts *opts, int fds[XIW_GROUP_ENGINES_MAX],
		       struct xiw_sock_was *was)
{
	struct sockaddr_storage bound;
	socklen_t bound_len = sizeof(bound);
	uint32_t n = 1;
	int err = listen_first(g, opts, fds[0]);

	if (!err && getsockname(fds[0], (struct sockaddr *)&bound, &bound_len))
		err = -errno;
	for (; n < g->n && !err; n++) {
		fds[n] = xiw_listener_socket(e, opts, (struct sockaddr *)&bound, bound_len, true,
					     was);
		if (fds[n] < 0) {
			err = fds[n];
			break;
		}
	}
	return !err && n > 1 ? choose_by_queue(g, fds[0]) : err;
}

void xiw_reuseport_take_back(int fds[XIW_GROUP_ENGINES_MAX], uint32_t n)
{
	struct sockaddr_storage bound;
	socklen_t bound_len = sizeof(bound), len = sizeof(int);
	const int none = 0;
	int listens = 0;

	for (uint32_t i = 1; i < n && fds[i] >= 0; i++) {
		shutdown(fds[i], SHUT_RDWR);
		close(fds[i]);
		fds[i] = -1;
	}
	if (getsockopt(fds[0], SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) || !listens ||
	    getsockname(fds[0], (struct sockaddr *)&bound, &bound_len))
		return;
	shutdown(fds[0], SHUT_RDWR);
	setsockopt(fds[0], SOL_SOCKET, SO_REUSEPORT, &none, sizeof(none));
	/* It has lost a port that the kernel had chosen. One that was asked for it still has, and this fails. */
	bind(fds[0], (struct sockaddr *)&bound, bound_len);
}

void xiw_reuseport_close(int fds[XIW_GROUP_ENGINES_MAX], uint32_t n)
{
	for (uint32_t i = 0; i < n && fds[i] >= 0; i++)
		shutdown(fds[i], SHUT_RDWR);
	for (uint32_t i = 0; i < n && fds[i] >= 0; i++)
		close(fds[i]);
}
