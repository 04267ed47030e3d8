// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the client's sockets say of sending. The kernel's socket sends on both paths, so it knows what it waited for.
 * The descriptors are duplicates, because the library's own belong to it.
 */
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "perf_client.h"

int xiw_perf_keep_socket(int fd, void *client)
{
	struct xiw_perf_client *c = client;
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	pthread_mutex_lock(&c->lock);
	if (copy >= 0 && c->nsockets < c->test.params.connections)
		c->sockets[c->nsockets++] = copy;
	else if (copy >= 0)
		close(copy);
	pthread_mutex_unlock(&c->lock);
	return 0;
}

void xiw_perf_tcp(const struct xiw_perf_client *c, struct xiw_perf_result *sum)
{
	for (unsigned int i = 0; i < c->nsockets; i++) {
		struct tcp_info info = {};
		socklen_t len = sizeof(info);

		if (getsockopt(c->sockets[i], IPPROTO_TCP, TCP_INFO, &info, &len))
			continue;
		sum->tcp_busy += info.tcpi_busy_time;
		sum->tcp_peer_window += info.tcpi_rwnd_limited;
		sum->tcp_send_buffer += info.tcpi_sndbuf_limited;
		sum->tcp_segments += info.tcpi_data_segs_out;
		sum->tcp_again += info.tcpi_total_retrans;
		sum->tcp_moved += info.tcpi_bytes_acked + info.tcpi_bytes_received;
	}
}

void xiw_perf_forget_sockets(struct xiw_perf_client *c)
{
	for (unsigned int i = 0; i < c->nsockets; i++)
		close(c->sockets[i]);
	c->nsockets = 0;
}
