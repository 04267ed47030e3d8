// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <xiwarp/load.h>

#include <errno.h>
#include <linux/capability.h>
#include <net/if.h>
#include <string.h>
#include <unistd.h>

#include "flow/table.h"
#include "flow/trust.h"
#include "load/attach.h"
#include "load/pins.h"
#include "load/query.h"

/*
 * Hands a flow to the kernel's socket. Its octets still need translation: their skew is what counts
 * for the caller.
 */
static uint32_t give_back(struct xiw_flow *flow)
{
	__u64 now, owner = __atomic_load_n(&flow->owner, __ATOMIC_ACQUIRE);
	uint32_t skew;

	do {
		skew = xiw_owner_skew(owner, __atomic_load_n(&flow->kernel_nxt, __ATOMIC_ACQUIRE));
		if (xiw_owner_path(owner) <= XIW_PATH_KERNEL)
			return skew;
		now = xiw_owner_pack(skew, xiw_owner_epoch(owner) + 1, XIW_PATH_KERNEL);
	} while (!__atomic_compare_exchange_n(&flow->owner, &owner, now, false, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
	__atomic_fetch_add(&flow->why[XIW_WHY_CLOSE], 1, __ATOMIC_RELAXED);
	return skew;
}

/*
 * Flows in use that need translation of sequence numbers to go on: a process with the number of the one that
 * had them is not enough, as anybody may come by that.
 */
static unsigned int count_skewed(const struct xiw_flow *flows)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < XIW_MAX_FLOWS; i++) {
		uint64_t owner = __atomic_load_n(&flows[i].owner, __ATOMIC_ACQUIRE);

		if (xiw_flow_in_use(&flows[i]) && xiw_owner_path(owner) != XIW_PATH_NONE &&
		    xiw_owner_skew(owner, flows[i].kernel_nxt) &&
		    xiw_flow_socket_exists(&flows[i].key))
			n++;
	}
	return n;
}

static int release_flows(const struct xiw_pins *pins, const char *ifname, bool force, char *why,
			 size_t why_len)
{
	struct xiw_flow *flows;
	unsigned int n;
	int err = xiw_flows_map(pins, &flows);

	/* Pins of a load that was cut short, or of another version: nobody here can use them. */
	if (err == -ENOENT || err == -ESTALE)
		return 0;
	if (err)
		return xiw_why(why, why_len, err, "cannot open %s/xiw_flows: %s%s", pins->dir,
			       strerror(-err),
			       err == -EPERM ? ": CAP_DAC_OVERRIDE is missing: run as root" : "");
	n = count_skewed(flows);
	if (n && !force)
		err = xiw_why(why, why_len, -EBUSY,
			      "%u connection%s on %s need%s the programs: end "
			      "%s first, or break %s with --force",
			      n, n == 1 ? "" : "s", ifname, n == 1 ? "s" : "",
			      n == 1 ? "it" : "them", n == 1 ? "it" : "them");
	for (unsigned int i = 0; !err && i < XIW_MAX_FLOWS; i++)
		if (xiw_flow_in_use(&flows[i]))
			give_back(&flows[i]);
	xiw_flows_unmap(flows);
	return err;
}

/* Another tool may have attached xiw_egress in another place; without its maps it would be of no use there. */
static bool egress_elsewhere(const struct xiw_pins *pins, int ifindex)
{
	uint32_t id = 0;
	int fd = xiw_pins_open_prog(pins, "xiw_egress", &id);

	if (fd < 0)
		return false;
	close(fd);
	return ifindex && xiw_attach_tc_id(ifindex) != id && xiw_query_egress(ifindex, id) == 1;
}

static int detach(const struct xiw_pins *pins, int ifindex)
{
	uint32_t xdp_id = 0, tc_id = 0;
	int err = 0, tc_err = 0;
	int xdp_fd = xiw_pins_open_prog(pins, "xiw_ingress", &xdp_id);
	int tc_fd = xiw_pins_open_prog(pins, "xiw_egress", &tc_id);

	if (ifindex) {
		/* XDP first: a segment that still went direct would be acknowledged untranslated. */
		err = xiw_detach_xdp(ifindex, xdp_id, xdp_fd);
		tc_err = xiw_detach_tc(ifindex, tc_id);
	}
	if (xdp_fd >= 0)
		close(xdp_fd);
	if (tc_fd >= 0)
		close(tc_fd);
	if (xdp_fd == -EPERM)
		return -EPERM;
	return err ? err : tc_err;
}

static int unload_quietly(const struct xiw_pins *pins, const char *ifname, bool force, char *why,
			  size_t why_len)
{
	char line[XIW_PIN_PATH_MAX];
	uint32_t id = 0;
	int fd, err = xiw_trust_dir(pins->dir, line, sizeof(line));

	if (err && err != -ENOENT)
		return xiw_why(why, why_len, err, "%s%s", line,
			       err == -EPERM ? ": run as root" : "");
	fd = xiw_pins_open_prog(pins, "xiw_ingress", &id);
	if (fd >= 0)
		close(fd);
	if (fd == -EPERM)
		return xiw_why(why, why_len, -EPERM,
			       "%s cannot be read: CAP_DAC_OVERRIDE is missing: run as root",
			       pins->dir);
	if (fd == -ENOENT && !xiw_pins_exist(pins) &&
	    xiw_query_xdp_named((int)if_nametoindex(ifname), "xiw_ingress"))
		return xiw_why(why, why_len, -ENOENT,
			       "%s runs xiw_ingress, but its pins are not in %s: 'xiwarp load %s "
			       "--replace' first, or 'ip link set dev %s xdp off'",
			       ifname, pins->dir, ifname, ifname);
	if (fd == -ENOENT && !xiw_pins_exist(pins))
		return xiw_why(why, why_len, -ENOENT, "xiwarp is not loaded on %s (no %s)", ifname,
			       pins->dir);
	/* Before a connection is taken off the direct path for nothing. */
	if (!xiw_caps_have(CAP_NET_ADMIN))
		return xiw_why(why, why_len, -EPERM,
			       "unloading from %s needs CAP_NET_ADMIN: run as root", ifname);
	if (egress_elsewhere(pins, (int)if_nametoindex(ifname)))
		return xiw_why(why, why_len, -EBUSY,
			       "%s has xiw_egress where xiwarp did not put it ('tc filter show dev "
			       "%s egress'): take it off there first",
			       ifname, ifname);
	err = release_flows(pins, ifname, force, why, why_len);
	if (err)
		return err;
	err = detach(pins, if_nametoindex(ifname));
	if (err)
		return xiw_why(why, why_len, err, "cannot detach from %s: %s (%s)%s", ifname,
			       strerror(-err), xiw_quiet_line(),
			       err == -EPERM ? ": CAP_NET_ADMIN is needed" : "");
	err = xiw_pins_remove(pins);
	if (err)
		return xiw_why(why, why_len, err, "detached from %s, but cannot remove %s: %s",
			       ifname, pins->dir, strerror(-err));
	return 0;
}

int xiw_unload(const char *ifname, const char *pin_dir, bool force, char *why, size_t why_len)
{
	struct xiw_quiet quiet;
	struct xiw_pins pins;
	int err;

	if (why && why_len)
		why[0] = '\0';
	err = xiw_pins_init(&pins, pin_dir, ifname);
	if (err)
		return xiw_why(why, why_len, -EINVAL,
			       "'%s' cannot be an interface, or the pin directory's name is "
			       "too long",
			       ifname ? ifname : "");
	xiw_quiet_begin(&quiet);
	err = unload_quietly(&pins, ifname, force, why, why_len);
	xiw_quiet_end(&quiet);
	return err;
}
