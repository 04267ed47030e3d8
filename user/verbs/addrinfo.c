// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Names and addresses for librdmacm's users. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/cm.h"
#include "verbs/devices.h"
#include "verbs/verbs.h"

XIW_INTERPOSE void rdma_freeaddrinfo(struct rdma_addrinfo *res)
{
	while (res) {
		struct rdma_addrinfo *next = res->ai_next;

		free(res->ai_src_addr);
		free(res->ai_dst_addr);
		free(res->ai_dst_canonname);
		free(res->ai_src_canonname);
		free(res);
		res = next;
	}
}

/* Returns 0, or -1 with errno. */
static int copy(const struct sockaddr *from, socklen_t len, struct sockaddr **to, socklen_t *to_len)
{
	if (!from || !len)
		return 0;
	*to = malloc(len);
	if (!*to)
		return -1; /* malloc() has said why */
	memcpy(*to, from, len);
	*to_len = len;
	return 0;
}

static bool is_loopback(const struct sockaddr *addr)
{
	const struct sockaddr_in *a4 = (const void *)addr;
	const struct sockaddr_in6 *a6 = (const void *)addr;

	return addr->sa_family == AF_INET ? ntohl(a4->sin_addr.s_addr) >> 24 == 127
					  : IN6_IS_ADDR_LOOPBACK(&a6->sin6_addr);
}

/* As getaddrinfo(3) finds them, in the place where they belong. Returns 0, -1 with errno, or an EAI_ code. */
static int look_up(const char *node, const char *service, struct rdma_addrinfo *r)
{
	struct addrinfo hints = { .ai_family = r->ai_family, .ai_socktype = SOCK_STREAM }, *found;
	bool passive = r->ai_flags & RAI_PASSIVE;
	int rc;

	hints.ai_flags = (passive ? AI_PASSIVE : 0) |
			 (r->ai_flags & RAI_NUMERICHOST ? AI_NUMERICHOST : 0);
	rc = getaddrinfo(node, service, &hints, &found);
	if (rc)
		return rc;
	r->ai_family = found->ai_family;
	/* Loopback is no device. A server that asks for its own host's address gets that of one. */
	if (passive && node && !xiw_device_of(found->ai_addr) && is_loopback(found->ai_addr))
		xiw_device_address(found->ai_addr);
	rc = copy(found->ai_addr, found->ai_addrlen, passive ? &r->ai_src_addr : &r->ai_dst_addr,
		  passive ? &r->ai_src_len : &r->ai_dst_len);
	freeaddrinfo(found);
	return rc;
}

/* Addresses in the hints stand where no name has given others. */
static int complete(struct rdma_addrinfo *r, const struct rdma_addrinfo *hints)
{
	int rc = 0;

	if (!r->ai_src_len)
		rc = copy(hints->ai_src_addr, hints->ai_src_len, &r->ai_src_addr, &r->ai_src_len);
	if (!rc && !r->ai_dst_len)
		rc = copy(hints->ai_dst_addr, hints->ai_dst_len, &r->ai_dst_addr, &r->ai_dst_len);
	if (!r->ai_family && r->ai_dst_len)
		r->ai_family = r->ai_dst_addr->sa_family;
	if (!r->ai_family && r->ai_src_len)
		r->ai_family = r->ai_src_addr->sa_family;
	return rc;
}

XIW_INTERPOSE int rdma_getaddrinfo(const char *node, const char *service,
				   const struct rdma_addrinfo *hints, struct rdma_addrinfo **res)
{
	struct rdma_addrinfo *r;
	int rc = 0;

	if (!node && !service && !hints)
		return xiw_cm_result(-EINVAL);
	/* iWARP has connections only. */
	if (hints && hints->ai_qp_type && hints->ai_qp_type != IBV_QPT_RC)
		return EAI_SOCKTYPE;
	r = calloc(1, sizeof(*r));
	if (!r)
		return xiw_cm_result(-ENOMEM);
	if (hints) {
		r->ai_flags = hints->ai_flags;
		r->ai_family = hints->ai_family;
	}
	r->ai_qp_type = IBV_QPT_RC;
	r->ai_port_space = hints && hints->ai_port_space ? hints->ai_port_space : RDMA_PS_TCP;
	if (node || service)
		rc = look_up(node, service, r);
	if (!rc && hints)
		rc = complete(r, hints);
	if (rc) {
		rdma_freeaddrinfo(r);
		return rc;
	}
	*res = r;
	return 0;
}
