// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdio.h>

#include "cli.h"

static const char *mode_name(enum xiw_xdp_mode mode)
{
	return mode == XIW_XDP_GENERIC ? "generic" : "native";
}

static int run_load(const struct xiw_args *args)
{
	struct xiw_load_opts opts = { .size = sizeof(opts),
				      .pin_dir = args->pin_dir,
				      .mode = args->mode,
				      .replace = args->replace };
	const char *ifname = args->words[0];
	struct xiw_status status = {};
	struct json_object *o;
	char why[512];
	int err;

	xiw_hold_signals();
	err = xiw_load(ifname, &opts, why, sizeof(why));
	if (err)
		return xiw_fail(xiw_exit_code(err), "%s", why);
	if (*why)
		fprintf(stderr, "xiwarp: %s\n", why);
	err = xiw_status_read(ifname, args->pin_dir, &status, sizeof(status));
	if (err)
		return xiw_fail(xiw_exit_code(err), "loaded on %s, but its pins cannot be read",
				ifname);
	if (!args->json) {
		printf("%s: loaded, XDP %s mode, %u RX queue%s, MTU %u\n", ifname,
		       mode_name(status.mode), status.queues, status.queues == 1 ? "" : "s",
		       status.mtu);
		return XIW_EXIT_OK;
	}
	o = json_object_new_object();
	xiw_json_str(o, "interface", ifname);
	xiw_json_str(o, "mode", mode_name(status.mode));
	xiw_json_u64(o, "mtu", status.mtu);
	xiw_json_u64(o, "queues", status.queues);
	xiw_json_u64(o, "xdp_id", status.xdp_id);
	xiw_json_u64(o, "tc_id", status.tc_id);
	xiw_json_print(o);
	return XIW_EXIT_OK;
}

static int run_unload(const struct xiw_args *args)
{
	const char *ifname = args->words[0];
	struct json_object *o;
	char why[512];
	int err;

	xiw_hold_signals();
	err = xiw_unload(ifname, args->pin_dir, args->force, why, sizeof(why));
	if (err)
		return xiw_fail(xiw_exit_code(err), "%s", why);
	if (!args->json) {
		printf("%s: unloaded\n", ifname);
		return XIW_EXIT_OK;
	}
	o = json_object_new_object();
	xiw_json_str(o, "interface", ifname);
	xiw_json_print(o);
	return XIW_EXIT_OK;
}

static const struct xiw_opt load_opts[] = {
	{ XIW_OPT_MODE, "mode", "MODE",
	  "native (in the driver), generic (behind it: slower, any interface), or auto (native, "
	  "else "
	  "generic, and it says why); default auto" },
	{ XIW_OPT_REPLACE, "replace", NULL,
	  "take the place of another XDP program; unload does not bring it back" },
	{ 0, NULL, NULL, NULL },
};

static const struct xiw_opt unload_opts[] = {
	{ XIW_OPT_FORCE, "force", NULL,
	  "even if connections need the programs to go on: these break" },
	{ 0, NULL, NULL, NULL },
};

const struct xiw_cmd xiw_cmd_load = {
	.name = "load",
	.synopsis = "IF",
	.summary = "put the BPF programs on a network interface",
	.text = "Attaches xiw_ingress (XDP) and xiw_egress (TC, clsact egress) to IF, and pins "
		"programs and "
		"maps under " XIW_PIN_DIR
		"/IF, where receivers find them. Mounts the BPF file system if it "
		"is not mounted. When something fails, nothing stays behind.\n\n"
		"A dot in IF is a colon in the directory's name. Where several network namespaces "
		"see one "
		"BPF file system, the first that has an IF of that name gets the directory, and "
		"another "
		"IF@network-namespace-COOKIE; none touches another's. Pins that only this command "
		"would "
		"see are refused, as under 'ip netns exec': use 'nsenter --net'.\n\n"
		"On virtio-net with an MTU above 1500 the receive rings are made anew, because "
		"what came "
		"into buffers from before the load would be lost. Needs Linux 6.1; CAP_SYS_ADMIN "
		"stands "
		"for CAP_BPF and CAP_PERFMON.",
	.examples = "sudo xiwarp load eth0\n"
		    "sudo xiwarp load eth0 --mode native --replace\n",
	.opts = load_opts,
	.min_words = 1,
	.max_words = 1,
	.run = run_load,
};

const struct xiw_cmd xiw_cmd_unload = {
	.name = "unload",
	.synopsis = "IF",
	.summary = "take the BPF programs off again",
	.text = "Detaches what xiwarp attached to IF, nothing else, and removes its pins. A "
		"connection that "
		"used the direct path needs the programs until its end, because the kernel's "
		"sequence "
		"numbers differ from the wire's; while there are any, unload refuses. Programs "
		"whose pins "
		"are lost are found by their names, which takes CAP_SYS_ADMIN. Where a bridge and "
		"its ports have programs, unload the bridge first. The qdisc clsact stays, since "
		"others may use it.",
	.examples = "sudo xiwarp unload eth0\n",
	.opts = unload_opts,
	.min_words = 1,
	.max_words = 1,
	.run = run_unload,
};
