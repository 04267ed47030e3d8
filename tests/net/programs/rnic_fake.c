// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Stands for librdmacm on a host with an RNIC: what test_rnics.sh preloads behind ours. Each call is a line of standard
 * output. RNIC_REFUSES: the number of the option that it does not take.
 */
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>

struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct rdma_event_channel *channel = calloc(1, sizeof(*channel));

	channel->fd = eventfd(0, EFD_CLOEXEC);
	return channel;
}

void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	free(channel);
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
		   enum rdma_port_space ps)
{
	*id = calloc(1, sizeof(**id));
	(*id)->channel = channel;
	(*id)->context = context;
	(*id)->ps = ps;
	puts("create");
	return 0;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	puts("destroy");
	free(id);
	return 0;
}

/* Nothing happens on the RNIC, whose channel does not block. */
int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	(void)channel, (void)event;
	errno = EAGAIN;
	return -1;
}

int rdma_set_option(struct rdma_cm_id *id, int level, int optname, void *optval, size_t optlen)
{
	const char *refused = getenv("RNIC_REFUSES");

	(void)id;
	printf("option %d/%d:", level, optname);
	for (size_t i = 0; i < optlen; i++)
		printf(" %u", ((unsigned char *)optval)[i]);
	puts("");
	if (!refused || atoi(refused) != optname)
		return 0;
	errno = EPERM;
	return -1;
}

int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	(void)id, (void)addr;
	puts("bind");
	return 0;
}

int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *src, struct sockaddr *dst,
		      int timeout_ms)
{
	(void)id, (void)src, (void)dst, (void)timeout_ms;
	puts("resolve");
	return 0;
}
