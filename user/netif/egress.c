// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "netif/egress.h"

#include <errno.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "netif/pins.h"

/* What headers before Linux 6.6 lack. */
#define TCX_EGRESS ((enum bpf_attach_type)47) /* BPF_TCX_EGRESS */
#define LINK_TYPE_TCX 11		      /* BPF_LINK_TYPE_TCX */
#define FIRST (1u << 3)			      /* BPF_F_BEFORE, before no program in particular */

int xiw_egress_attach(int ifindex, int prog_fd)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = FIRST);
	int fd = bpf_link_create(prog_fd, ifindex, TCX_EGRESS, &opts);

	return fd == -EINVAL ? -EOPNOTSUPP : fd;
}

int xiw_egress_open(const char *dir)
{
	return xiw_pins_open(dir, XIW_EGRESS_LINK, true);
}

/* In bpf_link_info the number of the interface is first for tcx, as it is for XDP, whose name all headers have. */
int xiw_egress_ifindex(int link_fd, uint32_t *prog_id)
{
	struct bpf_link_info info = {};
	uint32_t len = sizeof(info);
	int err = bpf_obj_get_info_by_fd(link_fd, &info, &len);

	if (err)
		return err;
	if ((uint32_t)info.type != LINK_TYPE_TCX)
		return -EINVAL;
	if (prog_id)
		*prog_id = info.prog_id;
	return (int)info.xdp.ifindex;
}

bool xiw_egress_dead(const char *dir)
{
	int fd = xiw_egress_open(dir);
	bool dead = fd >= 0 && !xiw_egress_ifindex(fd, NULL);

	if (fd >= 0)
		close(fd);
	return dead;
}
