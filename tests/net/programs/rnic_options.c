// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rnic_options bind|resolve ADDRESS: a program that sets options of an identifier before it says where the identifier
 * belongs, and one afterwards.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <string.h>

static int set(struct rdma_cm_id *id, int optname, int value, size_t len)
{
	unsigned char octet = (unsigned char)value;

	return rdma_set_option(id, RDMA_OPTION_ID, optname, len == 1 ? (void *)&octet : &value,
			       len);
}

int main(int argc, char **argv)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(7400) };
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;
	int rc;

	if (argc != 3 || !inet_aton(argv[2], &addr.sin_addr) || !channel ||
	    rdma_create_id(channel, &id, NULL, RDMA_PS_TCP))
		return 1;
	if (!set(id, RDMA_OPTION_ID_REUSEADDR, 1, 2) || errno != EINVAL)
		return 2;
	if (set(id, RDMA_OPTION_ID_AFONLY, 0, sizeof(int)) ||
	    set(id, RDMA_OPTION_ID_ACK_TIMEOUT, 14, 1) || set(id, RDMA_OPTION_ID_TOS, 40, 1) ||
	    set(id, RDMA_OPTION_ID_AFONLY, 1, sizeof(int)))
		return 3;
	if (!strcmp(argv[1], "bind"))
		rc = rdma_bind_addr(id, (struct sockaddr *)&addr);
	else
		rc = rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 1000);
	puts(rc ? strerror(errno) : "done");
	if (!rc && set(id, RDMA_OPTION_ID_REUSEADDR, 0, sizeof(int)))
		return 4;
	if (rdma_destroy_id(id))
		return 5;
	rdma_destroy_event_channel(channel);
	return 0;
}
