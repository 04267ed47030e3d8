// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdio.h>

#include <xiwarp/load.h>

#include "args.h"
#include "exit.h"
#include "json.h"
#include "netif/interface.h"
#include "signals.h"

static const char *mode_name(enum xiw_xdp_mode mode)
{
	return mode == XIW_XDP_GENERIC ? "generic" : "native";
}

static void report(const struct xiw_args *args, const struct xiw_status *s)
{
	const char *ifname = s->ifname;
	struct json_object *o;

	if (!args->json) {
		printf("%s: loaded, XDP %s mode, %u RX queue%s, MTU %u, room for %u flows\n",
		       ifname, mode_name(s->mode), s->queues, s->queues == 1 ? "" : "s", s->mtu,
		       s->max_flows);
		return;
	}
	o = json_object_new_object();
	xiw_json_str(o, "interface", ifname);
	xiw_json_str(o, "mode", mode_name(s->mode));
	xiw_json_u64(o, "mtu", s->mtu);
	xiw_json_u64(o, "queues", s->queues);
	xiw_json_u64(o, "max_flows", s->max_flows);
	xiw_json_u64(o, "xdp_id", s->xdp_id);
	xiw_json_u64(o, "tc_id", s->tc_id);
	xiw_json_print(o);
}

static int run_load(const struct xiw_args *args)
{
	struct xiw_load_opts opts = { .size = sizeof(opts),
				      .pin_dir = args->pin_dir,
				      .mode = args->load.mode,
				      .replace = args->load.replace,
				      .flows = args->load.flows };
	const char *ifname = args->words[0];
	struct xiw_status status = {};
	char why[512], driver[64];
	int err;

	xiw_hold_signals();
	if (args->load.mode != XIW_XDP_GENERIC && xiw_if_may_reset(ifname)) {
		xiw_if_driver(ifname, driver, sizeof(driver));
		xiw_fail(0,
			 "%s: %s may take the link down, for some seconds, to put programs on it "
			 "or to take them off",
			 ifname, driver);
	}
	err = xiw_load(ifname, &opts, why, sizeof(why));
	if (err)
		return xiw_fail(xiw_exit_code(err), "%s", why);
	if (*why)
		xiw_fail(0, "%s", why);
	err = xiw_status_read(ifname, args->pin_dir, &status, sizeof(status));
	if (err)
		return xiw_fail(xiw_exit_code(err), "loaded on %s, but its pins cannot be read",
				ifname);
	report(args, &status);
	return XIW_EXIT_OK;
}

static const struct xiw_word mode_words[] = {
	{ "auto", XIW_XDP_AUTO },
	{ "native", XIW_XDP_NATIVE },
	{ "generic", XIW_XDP_GENERIC },
	{},
};

static const struct xiw_opt load_opts[] = {
	{ "mode", .arg = "MODE",
	  .help = "native (in the driver), generic (behind the driver: slower, but on any "
		  "interface), or auto (native, else generic, and it says why); default auto",
	  XIW_WORD(load.mode, mode_words) },
	{ "replace", .help = "replace another XDP program; unload does not bring that back",
	  XIW_FLAG(load.replace) },
	{ "flows", .arg = "N",
	  .help = "the most connections that can go direct at a time, 64 to 65536, rounded up to "
		  "a power of two; each takes half a KiB of the kernel's memory from now on; "
		  "default 4096. Of more than half, a peer that connects to us gets no more than "
		  "half of what the others leave",
	  XIW_NUMBER(load.flows, 64, XIW_MAX_FLOWS) },
	{},
};

const struct xiw_cmd xiw_cmd_load = {
	.name = "load",
	.synopsis = "IF",
	.summary = "put the BPF programs on a network interface",
	.text = "Attaches xiw_ingress (XDP) and xiw_egress (tcx egress, in front of all others; "
		"before Linux 6.6 TC, clsact egress) to IF, and pins "
		"programs and maps under " XIW_PIN_DIR
		"/IF, where receivers find them. Mounts the BPF file system if it is not mounted. "
		"If something fails, nothing stays behind.\n\n"
		"A dot in IF is a colon in the directory's name. Where several network "
		"namespaces see one BPF file system, the first that has an IF of that name gets "
		"the directory, and another one IF@network-namespace-COOKIE; none touches "
		"another's. Pins that only this command would see are refused, as under 'ip "
		"netns exec': use 'nsenter --net'. Pins whose interface is gone, such as those of "
		"containers that have ended, are removed by the next load of any interface "
		"(since Linux 6.6).\n\n"
		"Where the driver takes VLAN tags out of frames (ethtool's rxvlan), or joins "
		"packets "
		"(lro), that is turned off until 'unload'. Many drivers reset the NIC for XDP: its "
		"link is then down for some seconds.\n\n"
		"Change the MTU first, and then load: many drivers make no larger buffers while an "
		"XDP program is attached, and lose longer packets, of all programs; 'xiwarp "
		"status' says if the MTU has grown since. "
		"On virtio-net with an MTU above 1500 the receive rings are made anew, because "
		"what arrives in buffers from before the load would be lost. Needs Linux 6.1. "
		"CAP_SYS_ADMIN can replace CAP_BPF and CAP_PERFMON.",
	.examples = "sudo xiwarp load eth0\n"
		    "sudo xiwarp load eth0 --mode native --replace\n"
		    "sudo xiwarp load eth0 --flows 65536\n",
	.opts = load_opts,
	.min_words = 1,
	.max_words = 1,
	.run = run_load,
};
