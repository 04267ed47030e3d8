// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdio.h>

#include <xiwarp/load.h>

#include "args.h"
#include "exit.h"
#include "json.h"
#include "signals.h"

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

static const struct xiw_opt unload_opts[] = {
	{ "force", .help = "even if connections need the programs to go on: these break",
	  XIW_FLAG(force) },
	{},
};

const struct xiw_cmd xiw_cmd_unload = {
	.name = "unload",
	.synopsis = "IF",
	.summary = "take the BPF programs off again",
	.text = "Detaches what xiwarp attached to IF, nothing else, and removes its pins. A "
		"connection that used the direct path needs the programs until its end, because "
		"the kernel's sequence numbers differ from those on the wire; while there are "
		"such connections, unload refuses. Programs whose pins are lost are found by "
		"their names, which takes CAP_SYS_ADMIN. Where a bridge and its ports have "
		"programs, unload the bridge first. Before Linux 6.6 the qdisc clsact "
		"stays, since others may use it.",
	.examples = "sudo xiwarp unload eth0\n",
	.opts = unload_opts,
	.min_words = 1,
	.max_words = 1,
	.run = run_unload,
};
