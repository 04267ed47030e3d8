// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The addresses of librdmacm's identifiers, and the devices that have them. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "verbs/cm.h"
#include "verbs/devices.h"
#include "verbs/theirs.h"
#include "verbs/verbs.h"

static socklen_t length(const struct sockaddr *addr)
{
	return addr->sa_family == AF_INET    ? sizeof(struct sockaddr_in)
	       : addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					     : 0;
}

static bool is_any(const struct sockaddr *addr)
{
	const struct sockaddr_in *a4 = (const void *)addr;
	const struct sockaddr_in6 *a6 = (const void *)addr;

	return addr->sa_family == AF_INET ? !a4->sin_addr.s_addr
					  : IN6_IS_ADDR_UNSPECIFIED(&a6->sin6_addr);
}

/* Its addresses are the connection's. One that was refused or has ended may begin anew. */
static bool has_connection(const struct xiw_id *id)
{
	return !id->ended && (id->passive || id->qp_num);
}

/* An address of no device of ours is an RNIC's, if there is one. */
static bool is_theirs(const struct xiw_id *id, const struct sockaddr *addr)
{
	return ((struct xiw_cm_channel *)id->cm.channel)->real && !is_any(addr) &&
	       !xiw_device_of(addr);
}

XIW_INTERPOSE int rdma_bind_addr(struct rdma_cm_id *cm, struct sockaddr *addr)
{
	struct xiw_id *id = xiw_id(cm);
	socklen_t len = length(addr);
	int rc;

	PASS_ON(cm, rdma_bind_addr, addr);
	if (id->listener || !len)
		return xiw_cm_result(-EINVAL);
	if (is_theirs(id, addr)) {
		if (xiw_theirs_make(id))
			return -1;
		PASS_ON(cm, rdma_bind_addr, addr);
	}
	if (!is_any(addr)) {
		rc = xiw_cm_set_device(id, xiw_device_of(addr));
		if (rc)
			return xiw_cm_result(rc);
	}
	rc = xiw_host_bind(addr, len, id->v6only, xiw_id_eq(id), id, &id->listener);
	if (rc)
		return xiw_cm_result(rc);
	len = sizeof(cm->route.addr.src_storage);
	return xiw_cm_result(
		xiw_host_listener_addr(id->listener, &cm->route.addr.src_storage, &len));
}

XIW_INTERPOSE int rdma_listen(struct rdma_cm_id *cm, int backlog)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	struct xiw_id *id = xiw_id(cm);

	PASS_ON(cm, rdma_listen, backlog);
	if (has_connection(id))
		return xiw_cm_result(-EINVAL);
	if (!id->listener && rdma_bind_addr(cm, (struct sockaddr *)&any))
		return -1;
	return xiw_cm_result(xiw_host_listen(id->listener, backlog));
}

/* The address that packets to dst have here, by the routing of UDP, which sends nothing for it. */
static int find_source(struct rdma_addr *addr)
{
	int fd = socket(addr->dst_addr.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_storage src = addr->src_storage;
	socklen_t len = sizeof(src);
	int rc = 0;

	if (fd < 0)
		return -errno;
	if (src.ss_family == AF_INET)
		((struct sockaddr_in *)&src)->sin_port = 0;
	else if (src.ss_family == AF_INET6)
		((struct sockaddr_in6 *)&src)->sin6_port = 0;
	if ((src.ss_family && bind(fd, (void *)&src, length((void *)&src))) ||
	    connect(fd, &addr->dst_addr, length(&addr->dst_addr)) ||
	    getsockname(fd, (void *)&src, &len))
		rc = -errno;
	close(fd);
	if (rc)
		return rc;
	/* The port is TCP's to choose, unless the program has bound one. */
	if (src.ss_family == AF_INET)
		((struct sockaddr_in *)&src)->sin_port = addr->src_sin.sin_port;
	else
		((struct sockaddr_in6 *)&src)->sin6_port = addr->src_sin6.sin6_port;
	addr->src_storage = src;
	return 0;
}

XIW_INTERPOSE int rdma_resolve_addr(struct rdma_cm_id *cm, struct sockaddr *src,
				    struct sockaddr *dst, int timeout_ms)
{
	struct rdma_addr *addr = &cm->route.addr;
	struct sockaddr_storage to = {};
	struct xiw_id *id = xiw_id(cm);
	int rc;

	/* Of ours nothing is asked that could be late. */
	PASS_ON_AND_WAIT(cm, rdma_resolve_addr, src, dst, timeout_ms);
	if (!length(dst) || has_connection(id))
		return xiw_cm_result(-EINVAL);
	/* Either may be the identifier's own, in whole or in part. */
	memcpy(&to, dst, length(dst));
	if (src && length(src) && !id->listener)
		memmove(&addr->src_addr, src, length(src));
	addr->dst_storage = to;
	rc = find_source(addr);
	if (!rc && !id->listener && is_theirs(id, &addr->src_addr)) {
		if (xiw_theirs_make(id))
			return -1;
		PASS_ON_AND_WAIT(cm, rdma_resolve_addr, src, dst, timeout_ms);
	}
	if (!rc)
		rc = xiw_cm_set_device(id, xiw_device_of(&addr->src_addr));
	rc = xiw_cm_tell(id, rc ? RDMA_CM_EVENT_ADDR_ERROR : RDMA_CM_EVENT_ADDR_RESOLVED, rc);
	return rc ? xiw_cm_result(rc) : xiw_cm_complete(id);
}

XIW_INTERPOSE int rdma_resolve_route(struct rdma_cm_id *cm, int timeout_ms)
{
	struct xiw_id *id = xiw_id(cm);
	int rc;

	PASS_ON_AND_WAIT(cm, rdma_resolve_route, timeout_ms);
	if (!cm->verbs)
		return xiw_cm_result(-EINVAL);
	rc = xiw_cm_tell(id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	return rc ? xiw_cm_result(rc) : xiw_cm_complete(id);
}

static __be16 port(const struct sockaddr_storage *addr)
{
	return addr->ss_family == AF_INET    ? ((const struct sockaddr_in *)addr)->sin_port
	       : addr->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)addr)->sin6_port
					     : 0;
}

XIW_INTERPOSE __be16 rdma_get_src_port(struct rdma_cm_id *cm)
{
	return port(&cm->route.addr.src_storage);
}

XIW_INTERPOSE __be16 rdma_get_dst_port(struct rdma_cm_id *cm)
{
	return port(&cm->route.addr.dst_storage);
}

/* As the kernel wants it; 0: there is no such option of ours. */
static size_t option_length(int level, int optname)
{
	if (level != RDMA_OPTION_ID)
		return 0;
	switch (optname) {
	case RDMA_OPTION_ID_REUSEADDR:
	case RDMA_OPTION_ID_AFONLY:
		return sizeof(int);
	case RDMA_OPTION_ID_TOS:
	case RDMA_OPTION_ID_ACK_TIMEOUT:
		return sizeof(uint8_t);
	default:
		return 0;
	}
}

/* A socket has to know it before it is bound. */
static int set_afonly(struct xiw_id *id, const int *only)
{
	if (id->listener)
		return -EINVAL;
	id->v6only = *only ? XIW_HOST_V6ONLY_ON : XIW_HOST_V6ONLY_OFF;
	return 0;
}

/* Nothing is refused that only asks for what is so anyway: ports are taken again, and TCP knows its time-outs. */
XIW_INTERPOSE int rdma_set_option(struct rdma_cm_id *cm, int level, int optname, void *optval,
				  size_t optlen)
{
	const size_t len = option_length(level, optname);
	struct xiw_id *id = xiw_id(cm);
	int rc = 0;

	PASS_ON(cm, rdma_set_option, level, optname, optval, optlen);
	if (!len)
		return xiw_cm_result(-ENOSYS);
	if (optlen != len)
		return xiw_cm_result(-EINVAL);
	if (optname == RDMA_OPTION_ID_AFONLY)
		rc = set_afonly(id, optval);
	if (!rc) {
		id->options[optname].len = len;
		memcpy(id->options[optname].value, optval, len);
	}
	return xiw_cm_result(rc);
}
