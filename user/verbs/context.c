// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Devices that are open, and what they say of themselves. */
#include <endian.h>
#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <xiwarp/cq.h>

#include "host/host.h"
#include "verbs/objects.h"
#include "verbs/ops.h"
#include "verbs/ports.h"
#include "verbs/verbs.h"

/* ---- the interface ---------------------------------------------------------------------------------- */

static int ask(const struct xiw_device *d, unsigned long request, struct ifreq *ifr)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), rc;

	if (fd < 0)
		return -errno;
	memset(ifr, 0, sizeof(*ifr));
	memcpy(ifr->ifr_name, d->ifname, sizeof(ifr->ifr_name));
	rc = ioctl(fd, request, ifr) ? -errno : 0;
	close(fd);
	return rc;
}

/* The largest of verbs' sizes that the interface's MTU has room for. */
static enum ibv_mtu mtu(const struct xiw_device *d)
{
	struct ifreq ifr;
	int octets = ask(d, SIOCGIFMTU, &ifr) ? 1500 : ifr.ifr_mtu;

	return octets >= 4096	? IBV_MTU_4096
	       : octets >= 2048 ? IBV_MTU_2048
	       : octets >= 1024 ? IBV_MTU_1024
	       : octets >= 512	? IBV_MTU_512
				: IBV_MTU_256;
}

/* A number that is no IEEE OUI in use: programs know software devices by theirs, as they do siw and rxe. */
#define VENDOR_ID 0x786977 /* "xiw" */

/* ---- queries ---------------------------------------------------------------------------------------- */

XIW_INTERPOSE int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	if (!xiw_is_context(context))
		return XIW_REAL(ibv_query_device)(context, attr);
	*attr = (struct ibv_device_attr){
		.fw_ver = XIW_VERSION,
		.node_guid = ibv_get_device_guid(context->device),
		.sys_image_guid = ibv_get_device_guid(context->device),
		.max_mr_size = UINT64_MAX,
		.vendor_id = VENDOR_ID,
		.vendor_part_id = 1,
		.page_size_cap = 0xfffff000, /* any: nothing depends on pages */
		.max_qp = 65536,
		.max_qp_wr = XIW_HOST_DEPTH_MAX,
		.device_cap_flags = IBV_DEVICE_MEM_MGT_EXTENSIONS,
		.max_sge = XIW_HOST_SGE_MAX,
		.max_sge_rd = XIW_HOST_SGE_MAX,
		.max_cq = 65536,
		.max_cqe = XIW_CQ_ENTRIES_MAX - 1,
		.max_mr = 1 << 20,
		.max_pd = 65536,
		.max_qp_rd_atom = XIW_HOST_READS_MAX,
		.max_res_rd_atom = 1 << 20,
		.max_qp_init_rd_atom = XIW_HOST_READS_MAX,
		.atomic_cap = xiw_verbs_extended() ? IBV_ATOMIC_GLOB : IBV_ATOMIC_NONE,
		.max_srq = 65536,
		.max_srq_wr = XIW_HOST_DEPTH_MAX,
		.max_srq_sge = XIW_HOST_SGE_MAX,
		.max_pkeys = 1,
		.phys_port_cnt = 1,
	};
	return 0;
}

/* Programs loop over the ports that these name, and have no other count. */
static int query_device_ex(struct ibv_context *context,
			   const struct ibv_query_device_ex_input *input,
			   struct ibv_device_attr_ex *attr, size_t attr_size)
{
	struct ibv_device_attr_ex all = {
		.phys_port_cnt_ex = 1,
		/* But for regions of all addresses (IBV_ODP_SUPPORT_IMPLICIT). */
		.odp_caps.general_caps = IBV_ODP_SUPPORT,
		.odp_caps.per_transport_caps.rc_odp_caps =
			IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE |
			IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_SRQ_RECV |
			(xiw_verbs_extended() ? IBV_ODP_SUPPORT_ATOMIC : 0),
	};

	if (input && input->comp_mask)
		return EINVAL;
	ibv_query_device(context, &all.orig_attr);
	memset(attr, 0, attr_size);
	memcpy(attr, &all, attr_size < sizeof(all) ? attr_size : sizeof(all));
	return 0;
}

static int query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr,
		      size_t len)
{
	const struct xiw_device *d = xiw_context(context)->device;
	const bool runs = xiw_port_runs(d);
	struct ibv_port_attr a = {
		.state = runs ? IBV_PORT_ACTIVE : IBV_PORT_DOWN,
		.max_mtu = IBV_MTU_4096,
		.active_mtu = mtu(d),
		.gid_tbl_len = 1,
		.max_msg_sz = UINT32_MAX,
		.pkey_tbl_len = 1,
		.max_vl_num = 1,
		.active_width = 2, /* 4X ... */
		.active_speed = 4, /* ... of 10 Gbit/s: what the link carries is not known */
		.phys_state = runs ? 5 : 3, /* LinkUp, Disabled */
		.link_layer = IBV_LINK_LAYER_ETHERNET,
	};

	if (port_num != 1)
		return EINVAL;
	memset(attr, 0, len);
	memcpy(attr, &a, len < sizeof(a) ? len : sizeof(a));
	return 0;
}

/* The part of the attributes that programs built before libibverbs 1.14 have room for ends before flags. */
#undef ibv_query_port
XIW_INTERPOSE int ibv_query_port(struct ibv_context *context, uint8_t port_num,
				 struct _compat_ibv_port_attr *attr)
{
	int (*real)(struct ibv_context *, uint8_t, struct _compat_ibv_port_attr *);

	if (xiw_is_context(context))
		return query_port(context, port_num, (struct ibv_port_attr *)attr,
				  offsetof(struct ibv_port_attr, flags));
	real = xiw_real("ibv_query_port");
	return real(context, port_num, attr);
}

/* As for every RNIC: the MAC address and zeros. */
static void set_gid(const struct xiw_context *c, union ibv_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	memcpy(gid->raw, c->device->mac, sizeof(c->device->mac));
}

XIW_INTERPOSE int ibv_query_gid(struct ibv_context *context, uint8_t port_num, int index,
				union ibv_gid *gid)
{
	if (!xiw_is_context(context))
		return XIW_REAL(ibv_query_gid)(context, port_num, index, gid);
	if (port_num != 1 || index) {
		errno = EINVAL;
		return -1;
	}
	set_gid(xiw_context(context), gid);
	return 0;
}

XIW_INTERPOSE int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t index,
				    struct ibv_gid_entry *entry, uint32_t flags, size_t size)
{
	struct ibv_gid_entry e = { .port_num = 1 };

	if (!xiw_is_context(context))
		return XIW_REAL(_ibv_query_gid_ex)(context, port_num, index, entry, flags, size);
	if (flags)
		return EOPNOTSUPP;
	if (port_num != 1 || index)
		return EINVAL;
	set_gid(xiw_context(context), &e.gid);
	e.ndev_ifindex = (uint32_t)xiw_context(context)->device->ifindex;
	memset(entry, 0, size);
	memcpy(entry, &e, size < sizeof(e) ? size : sizeof(e));
	return 0;
}

/* Programs of rdma-core ask so for what sysfs says of a GID; every RNIC's is of the first kind. No header has it. */
int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index,
		       unsigned int *type);
XIW_INTERPOSE int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num,
				     unsigned int index, unsigned int *type)
{
	int (*real)(struct ibv_context *, uint8_t, unsigned int, unsigned int *);

	if (!xiw_is_context(context)) {
		real = xiw_real("ibv_query_gid_type");
		return real(context, port_num, index, type);
	}
	if (port_num != 1 || index) {
		errno = EINVAL;
		return -1;
	}
	*type = 0; /* IBV_GID_TYPE_SYSFS_IB_ROCE_V1 */
	return 0;
}

XIW_INTERPOSE ssize_t _ibv_query_gid_table(struct ibv_context *context,
					   struct ibv_gid_entry *entries, size_t max_entries,
					   uint32_t flags, size_t entry_size)
{
	int rc;

	if (!xiw_is_context(context))
		return XIW_REAL(_ibv_query_gid_table)(context, entries, max_entries, flags,
						      entry_size);
	if (!max_entries)
		return -EINVAL;
	rc = _ibv_query_gid_ex(context, 1, 0, entries, flags, entry_size);
	return rc ? -rc : 1;
}

XIW_INTERPOSE int ibv_query_pkey(struct ibv_context *context, uint8_t port_num, int index,
				 __be16 *pkey)
{
	if (!xiw_is_context(context))
		return XIW_REAL(ibv_query_pkey)(context, port_num, index, pkey);
	if (port_num != 1 || index) {
		errno = EINVAL;
		return -1;
	}
	*pkey = htobe16(0xffff); /* the default one: iWARP has no partitions */
	return 0;
}

XIW_INTERPOSE int ibv_get_pkey_index(struct ibv_context *context, uint8_t port_num, __be16 pkey)
{
	if (!xiw_is_context(context))
		return XIW_REAL(ibv_get_pkey_index)(context, port_num, pkey);
	if (port_num != 1 || pkey != htobe16(0xffff)) {
		errno = EINVAL;
		return -1;
	}
	return 0;
}

/* ---- open and close --------------------------------------------------------------------------------- */

static struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	(void)pd, (void)type;
	errno = EOPNOTSUPP;
	return NULL;
}

static const struct ibv_context_ops ops = {
	.alloc_mw = alloc_mw,
	.poll_cq = xiw_verbs_poll_cq,
	.req_notify_cq = xiw_verbs_req_notify_cq,
	.post_send = xiw_verbs_post_send,
	.post_recv = xiw_verbs_post_recv,
	.post_srq_recv = xiw_verbs_post_srq_recv,
};

XIW_INTERPOSE struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct xiw_context *c;
	int rc;

	if (!xiw_is_device(device))
		return XIW_REAL(ibv_open_device)(device);
	c = calloc(1, sizeof(*c));
	rc = c ? xiw_host_eq_create(&c->async) : -ENOMEM;
	if (rc) {
		free(c);
		errno = -rc;
		return NULL;
	}
	xiw_host_eq_on_take(c->async, xiw_verbs_async_taken);
	c->device = xiw_device(device);
	c->verbs.sz = sizeof(c->verbs);
	c->verbs.query_port = query_port;
	c->verbs.create_qp_ex = xiw_verbs_create_qp_ex;
	c->verbs.query_device_ex = query_device_ex;
	c->verbs.advise_mr = xiw_verbs_advise_mr;
	c->verbs.priv = (void *)c->slack_behind; /* libibverbs' own: nobody else looks there */
	c->verbs.context = (struct ibv_context){
		.device = device,
		.ops = ops,
		.cmd_fd = -1,
		.async_fd = xiw_host_eq_fd(c->async),
		.num_comp_vectors = 1,
		.abi_compat = __VERBS_ABI_IS_EXTENDED,
	};
	pthread_mutex_init(&c->verbs.context.mutex, NULL);
	xiw_ports_open(c);
	return &c->verbs.context;
}

XIW_INTERPOSE int ibv_close_device(struct ibv_context *context)
{
	struct xiw_context *c;

	if (!xiw_is_context(context))
		return XIW_REAL(ibv_close_device)(context);
	c = xiw_context(context);
	xiw_ports_close(c);
	xiw_host_eq_free(c->async);
	pthread_mutex_destroy(&context->mutex);
	free(c);
	return 0;
}
