// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <xiwarp/load.h>

#include <dirent.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/opts.h"
#include "handoff/flows.h"
#include "handoff/table.h"
#include "netif/bpf_log.h"
#include "netif/fit.h"
#include "netif/interface.h"
#include "netif/pins.h"
#include "netif/query.h"
#include "netif/trust.h"

static const char *const stat_names[XIW_STAT__COUNT] = {
	[XIW_STAT_OTHER] = "other",
	[XIW_STAT_PASS_DATA] = "pass_data",
	[XIW_STAT_PASS_CONTROL] = "pass_control",
	[XIW_STAT_DIRECT] = "direct",
	[XIW_STAT_DROP_EPOCH] = "drop_epoch",
	[XIW_STAT_DROP_FRAGMENT] = "drop_fragment",
	[XIW_STAT_DROP_MALFORMED] = "drop_malformed",
	[XIW_STAT_DROP_FOREIGN] = "drop_foreign",
	[XIW_STAT_DROP_HIDDEN] = "drop_hidden",
	[XIW_STAT_DROP_CUT] = "drop_cut",
	[XIW_STAT_DROP_PAWS] = "drop_paws",
	[XIW_STAT_WATCHDOG] = "watchdog",
	[XIW_STAT_EGRESS] = "egress",
	[XIW_STAT_EGRESS_REWRITTEN] = "egress_rewritten",
};

const char *xiw_stat_name(unsigned int stat)
{
	return stat < XIW_STAT__COUNT ? stat_names[stat] : NULL;
}

/* Finds the pins, and checks that they may be believed. */
static int find_pins(struct xiw_pins *pins, const char *pin_dir, const char *name,
		     char own[IF_NAMESIZE])
{
	char why[XIW_PIN_PATH_MAX];
	int err = xiw_pins_of(pins, pin_dir, name, own);

	return err ? err : xiw_trust_dir(pins->dir, why, sizeof(why));
}

static int open_map(const struct xiw_pins *pins, const char *name, uint32_t value_size,
		    uint32_t entries)
{
	return xiw_pins_check_map(xiw_pins_open(pins->dir, name, false), value_size, entries);
}

static int read_stats(const struct xiw_pins *pins, uint64_t sums[XIW_STAT__COUNT])
{
	int cpus = libbpf_num_possible_cpus(), err = 0, fd;
	uint64_t *values;

	if (cpus < 1)
		return -EINVAL;
	fd = open_map(pins, "xiw_stats", sizeof(*values), XIW_STAT__COUNT);
	if (fd < 0)
		return fd;
	values = calloc(cpus, sizeof(*values));
	if (!values)
		err = -ENOMEM;
	for (uint32_t stat = 0; !err && stat < XIW_STAT__COUNT; stat++) {
		err = bpf_map_lookup_elem(fd, &stat, values);
		for (int cpu = 0; !err && cpu < cpus; cpu++)
			sums[stat] += values[cpu];
	}
	free(values);
	close(fd);
	return err;
}

static int read_queues(const struct xiw_pins *pins, struct xiw_status *s)
{
	int err = 0, fd = open_map(pins, "xiw_queues", sizeof(struct xiw_queue), XIW_MAX_QUEUES);
	int dir_fd = open(pins->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct xiw_queue q;

	if (fd < 0 || dir_fd < 0) {
		err = fd < 0 ? fd : -errno;
		goto out;
	}
	for (uint32_t i = 0; !err && i < XIW_MAX_QUEUES; i++) {
		err = bpf_map_lookup_elem(fd, &i, &q);
		if (err)
			break;
		s->too_long += q.too_long;
		s->tx_full += q.tx_full;
		s->cuts += q.cuts;
		q.engine &= ~XIW_QUEUE_HELD;
		if (!q.engine || !xiw_engine_lives_at(dir_fd, q.engine))
			continue;
		s->engines[i] = q.engine;
		if (q.takes && q.takes < s->mtu + ETH_HLEN)
			s->outgrown |= 1ull << i;
	}
out:
	if (fd >= 0)
		close(fd);
	if (dir_fd >= 0)
		close(dir_fd);
	return err;
}

static int count_flow(uint32_t index, const struct xiw_flow *flow, void *ctx)
{
	(void)index;
	(void)flow;
	++*(uint32_t *)ctx;
	return 0;
}

static void read_attachment(const struct xiw_pins *pins, struct xiw_status *s, uint32_t xdp_id)
{
	uint32_t tc_id, flags, first;
	int there;

	if (xiw_query_xdp_id(s->ifindex, &flags) == xdp_id) {
		s->xdp_id = xdp_id;
		s->mode = flags == XDP_FLAGS_SKB_MODE ? XIW_XDP_GENERIC : XIW_XDP_NATIVE;
	}
	/* At whatever place: other tools attach it elsewhere. */
	if (xiw_pins_prog_id(pins->dir, "xiw_egress", &tc_id))
		return;
	there = xiw_query_egress_in(pins->dir, (int)s->ifindex, tc_id);
	s->tc_id = there == 1 ? tc_id : 0;
	if (s->tc_id && xiw_query_egress_first((int)s->ifindex, tc_id, &first) == 0)
		s->tc_before = first;
	s->tc_unknown = there == -EPERM || there == -EACCES;
}

/* The interface may have another name by now than its pins. @name gets the present one. */
static void find_interface(struct xiw_status *s, uint32_t xdp_id, char name[IF_NAMESIZE])
{
	struct if_nameindex *all;

	s->ifindex = if_nametoindex(s->ifname);
	snprintf(name, IF_NAMESIZE, "%s", s->ifname);
	if (s->ifindex && xiw_query_xdp((int)s->ifindex, xdp_id) == 1)
		return;
	all = if_nameindex();
	for (struct if_nameindex *i = all; i && i->if_index; i++) {
		if (xiw_query_xdp((int)i->if_index, xdp_id) != 1)
			continue;
		s->ifindex = i->if_index;
		snprintf(name, IF_NAMESIZE, "%s", i->if_name);
		break;
	}
	if (all)
		if_freenameindex(all);
}

static int status_quietly(const struct xiw_pins *pins, struct xiw_status *s)
{
	char name[IF_NAMESIZE];
	uint32_t xdp_id;
	int err = xiw_pins_prog_id(pins->dir, "xiw_ingress", &xdp_id);

	if (err)
		return err;
	find_interface(s, xdp_id, name);
	if (s->ifindex) {
		xiw_if_mtu(name, &s->mtu);
		s->loaded_mtu = xiw_pins_noted(pins->dir, XIW_PINS_MTU);
		s->queues = xiw_if_queues(name);
		read_attachment(pins, s, xdp_id);
		if (!xiw_fit(s->ifindex, name, s->unfit, sizeof(s->unfit)))
			xiw_fit_tags(name, s->unfit, sizeof(s->unfit));
	}
	err = xiw_flows_each(s->ifname, pins->base, count_flow, &s->flows);
	if (!err)
		err = xiw_flows_room(pins, &s->max_flows);
	if (!err)
		err = read_queues(pins, s);
	return err ? err : read_stats(pins, s->stats);
}

int xiw_status_read(const char *ifname, const char *pin_dir, struct xiw_status *status, size_t size)
{
	struct xiw_status s = {};
	struct xiw_bpf_log log;
	struct xiw_pins pins;
	int err = find_pins(&pins, pin_dir, ifname, s.ifname);

	if (err)
		return err;
	xiw_bpf_log_begin(&log);
	err = status_quietly(&pins, &s);
	xiw_bpf_log_end(&log);
	if (!err)
		xiw_opts_give(status, size, &s, sizeof(s));
	return err;
}

/* A BPF file system itself has files, such as maps.debug. */
static bool is_dir(const char *dir, const char *name)
{
	char path[XIW_PIN_PATH_MAX];
	struct stat st;

	return !xiw_pins_path(dir, name, path) && !lstat(path, &st) && S_ISDIR(st.st_mode);
}

int xiw_status_each(const char *pin_dir, int (*fn)(const char *ifname, void *ctx), void *ctx)
{
	const char *dir = pin_dir ? pin_dir : XIW_PIN_DIR;
	char ifname[IFNAMSIZ];
	struct dirent **names;
	int n, ret = 0;

	n = scandir(dir, &names, NULL, alphasort);
	if (n < 0)
		return errno == ENOENT ? 0 : errno == EACCES ? -EPERM : -errno;
	for (int i = 0; i < n; i++) {
		if (!ret && is_dir(dir, names[i]->d_name) &&
		    xiw_pins_ifname(names[i]->d_name, pin_dir, ifname))
			ret = fn(ifname, ctx);
		free(names[i]);
	}
	free(names);
	return ret;
}

int xiw_flows_each(const char *ifname, const char *pin_dir,
		   int (*fn)(uint32_t index, const struct xiw_flow *flow, void *ctx), void *ctx)
{
	char own[IF_NAMESIZE];
	struct xiw_pins pins;
	int ret = find_pins(&pins, pin_dir, ifname, own);

	return ret ? ret : xiw_flows_read(&pins, fn, ctx);
}
