// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <xiwarp/load.h>

#include <errno.h>
#include <net/if.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "netif/bpf_log.h"
#include "netif/pins.h"
#include "netif/trust.h"

static int read_all(const struct xiw_pins *pins,
		    int (*fn)(uint32_t index, const struct xiw_obstacle *obstacle, void *ctx),
		    void *ctx)
{
	int fd = xiw_pins_check_map(xiw_pins_open(pins->dir, "xiw_obstacles", false),
				    sizeof(struct xiw_obstacle), XIW_OBSTACLES);
	struct xiw_obstacle one;
	int ret = 0;

	if (fd < 0)
		return fd;
	for (uint32_t i = 1; !ret && i < XIW_OBSTACLES; i++) {
		ret = bpf_map_lookup_elem(fd, &i, &one) ? -errno : 0;
		if (!ret && one.reason > XIW_REASON_NONE && one.reason < XIW_REASON__COUNT)
			ret = fn(i, &one, ctx);
	}
	close(fd);
	return ret;
}

int xiw_obstacles_each(const char *ifname, const char *pin_dir,
		       int (*fn)(uint32_t index, const struct xiw_obstacle *obstacle, void *ctx),
		       void *ctx)
{
	char own[IF_NAMESIZE], why[XIW_PIN_PATH_MAX];
	struct xiw_bpf_log log;
	struct xiw_pins pins;
	int ret = xiw_pins_of(&pins, pin_dir, ifname, own);

	if (!ret)
		ret = xiw_trust_dir(pins.dir, why, sizeof(why));
	if (ret)
		return ret;
	xiw_bpf_log_begin(&log);
	ret = read_all(&pins, fn, ctx);
	xiw_bpf_log_end(&log);
	return ret;
}
