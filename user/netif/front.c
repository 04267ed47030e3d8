// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "netif/front.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "netif/bpffs.h"
#include "netif/egress.h"
#include "netif/query.h"

/* Opens the pinned link. -ENOENT: there is none, or it holds the program nowhere, or another one. */
static int open_link(const struct xiw_pins *pins, int ifindex, uint32_t prog_id)
{
	int fd = xiw_egress_open(pins->dir), at;
	uint32_t its = 0;

	if (fd < 0)
		return fd;
	at = xiw_egress_ifindex(fd, &its);
	if (at == ifindex && its == prog_id)
		return fd;
	close(fd);
	return at < 0 ? at : -ENOENT;
}

static void adopt(int *link_fd, int fd)
{
	if (*link_fd >= 0)
		close(*link_fd);
	*link_fd = fd;
}

/* Do these descriptors not stand for one link? */
static bool differ(int a, int b)
{
	struct bpf_link_info first = {}, second = {};
	uint32_t len = sizeof(first);

	if (bpf_obj_get_info_by_fd(a, &first, &len))
		return true;
	len = sizeof(second);
	return bpf_obj_get_info_by_fd(b, &second, &len) || first.id != second.id;
}

/*
 * A link cannot move, and a program is attached once. Between the two, segments leave untranslated, as all have done
 * behind the other program: the peer drops their acknowledgements as too old (RFC 5961 section 5.2).
 */
static int attach_anew(const struct xiw_pins *pins, int ifindex, uint32_t prog_id, int old)
{
	char path[XIW_PIN_PATH_MAX];
	int err = xiw_pins_path(pins->dir, XIW_EGRESS_LINK, path), link, prog;
	uint32_t its;

	/* Looked at first: without a pin the new link would end with this process. */
	if (!err && faccessat(AT_FDCWD, pins->dir, W_OK, AT_EACCESS))
		err = -EPERM;
	prog = err ? err : xiw_pins_open_prog(pins->dir, "xiw_egress", &its);
	if (prog < 0)
		return prog;
	err = its == prog_id ? bpf_link_detach(old) : -ENOENT;
	link = err ? err : xiw_egress_attach(ifindex, prog);
	close(prog);
	if (link < 0)
		return link;
	if (unlink(path) || bpf_obj_pin(link, path)) {
		err = -errno;
		close(link);
		return err;
	}
	return link;
}

/* The lock is held. */
static int to_front(const struct xiw_pins *pins, int ifindex, uint32_t prog_id, int *link_fd)
{
	int first = xiw_query_egress_first(ifindex, prog_id, NULL), fd, link;

	if (first < 0)
		return first;
	fd = open_link(pins, ifindex, prog_id);
	if (fd < 0)
		return first ? 0 : fd;
	if (!first) {
		link = attach_anew(pins, ifindex, prog_id, fd);
		close(fd);
		if (link < 0)
			return -EBUSY;
		adopt(link_fd, link);
		return 1;
	}
	if (*link_fd >= 0 && !differ(*link_fd, fd)) {
		close(fd);
		return 0;
	}
	adopt(link_fd, fd);
	return 1;
}

int xiw_front_take(const struct xiw_pins *pins, int ifindex, uint32_t prog_id, int *link_fd)
{
	int lock = xiw_bpffs_try_lock(pins->dir), err;

	if (lock == -EBUSY)
		return -EAGAIN;
	err = to_front(pins, ifindex, prog_id, link_fd);
	xiw_bpffs_unlock(lock);
	return err;
}

int xiw_front_follow(const struct xiw_pins *pins, int ifindex, uint32_t prog_id, int *link_fd)
{
	int lock = xiw_bpffs_try_lock(pins->dir), fd;

	if (lock == -EBUSY)
		return -EAGAIN;
	fd = open_link(pins, ifindex, prog_id);
	xiw_bpffs_unlock(lock);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	adopt(link_fd, fd);
	return 1;
}
