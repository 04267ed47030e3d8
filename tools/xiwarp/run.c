// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Starts a program of libibverbs and librdmacm on xiwarp. */
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xiwarp/group.h>

#include "args.h"
#include "endpoint.h"
#include "exit.h"
#include "netif/interface.h"
#include "text.h"

#define LIBRARY "libxiw-verbs.so"
#define TRACE "libxiw-trace.so"

/* Where `make` puts the libraries, beside the command, or where `make install` does, also if that was moved. */
static bool find_library(const char *name, char *path, size_t len)
{
	static const char *const places[] = { "", "/../lib" };
	static const char installed[] = XIW_LIBDIR;
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (n < 0)
		return false;
	self[n] = '\0';
	slash = strrchr(self, '/');
	if (slash)
		*slash = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		n = snprintf(path, len, "%s%s/%s", self, places[i], name);
		if (n > 0 && (size_t)n < len && !access(path, R_OK))
			return true;
	}
	n = snprintf(path, len, "%s/%s", installed, name);
	return n > 0 && (size_t)n < len && !access(path, R_OK);
}

/*
 * Can LD_PRELOAD name this file? The loader splits the variable at blanks and colons, takes what is behind them for
 * further libraries, relative to the working directory, and replaces $LIB and its like.
 */
static bool can_preload(const char *library)
{
	return !strpbrk(library, " :$");
}

/* In front of what is preloaded already. */
static int preload(const char *library)
{
	const char *others = getenv("LD_PRELOAD");
	char list[8192];
	int n = snprintf(list, sizeof(list), "%s%s%s", library, others && *others ? ":" : "",
			 others ? others : "");

	if (n < 0 || (size_t)n >= sizeof(list)) {
		errno = E2BIG;
		return -1;
	}
	return setenv("LD_PRELOAD", list, 1);
}

/* The first address of the interface, in `addr`; NULL: it has none. */
static const struct sockaddr *address_of(const char *ifname, struct sockaddr_storage *addr)
{
	const struct sockaddr *found = NULL;
	struct ifaddrs *all;

	if (xiw_if_addresses(&all))
		return NULL;
	for (const struct ifaddrs *a = all; a && !found; a = a->ifa_next) {
		int family = a->ifa_addr ? a->ifa_addr->sa_family : AF_UNSPEC;

		if (strcmp(a->ifa_name, ifname) || (family != AF_INET && family != AF_INET6))
			continue;
		memcpy(addr, a->ifa_addr,
		       family == AF_INET ? sizeof(struct sockaddr_in)
					 : sizeof(struct sockaddr_in6));
		found = (const struct sockaddr *)addr;
	}
	freeifaddrs(all);
	return found;
}

/* What COMMAND's engines would find, before there is a COMMAND. */
static int check_direct(const struct xiw_args *args)
{
	char own[IF_NAMESIZE];
	const char *ifname = args->run.interface ? xiw_if_name(args->run.interface, own) : NULL;
	const struct sockaddr *local = NULL;
	struct sockaddr_storage addr;
	struct xiw_engine *engine;
	char why[256], shown[256];
	int err, code;

	if (ifname) {
		local = address_of(ifname, &addr);
		if (!local)
			return xiw_fail(XIW_EXIT_NOT_FOUND, "--path direct: %s has no address",
					xiw_printable(ifname, shown, sizeof(shown)));
	}
	code = xiw_endpoint_open(args, XIW_USE_DIRECT, &engine);
	if (code)
		return code;
	err = xiw_engine_prepare(engine, local, why, sizeof(why));
	xiw_engine_destroy(engine);
	return err ? xiw_fail(xiw_exit_code(err), "--path direct: %s", why) : 0;
}

static const struct xiw_word run_path_words[] = {
	{ "auto", 1 + XIW_USE_AUTO },
	{ "kernel", 1 + XIW_USE_KERNEL },
	{ "direct", 1 + XIW_USE_DIRECT },
	{},
};

/* What user/host and user/verbs read. An option that is not given leaves what the environment says. */
static int set_environment(const struct xiw_args *args)
{
	char queues[16];

	for (const struct xiw_word *w = run_path_words; w->name; w++)
		if (w->value == args->run.path && setenv("XIWARP_PATH", w->name, 1))
			return -1;
	snprintf(queues, sizeof(queues), "%u", args->run.queues);
	if ((args->run.queues && setenv("XIWARP_QUEUES", queues, 1)) ||
	    (args->pin_dir && setenv("XIWARP_PIN_DIR", args->pin_dir, 1)) ||
	    (args->run.report && setenv("XIWARP_REPORT", "1", 1)) ||
	    (args->run.extended && setenv("XIWARP_EXTENDED", "1", 1)) ||
	    (args->run.send_first && setenv("XIWARP_SEND_FIRST", "1", 1)) ||
	    (args->run.interface && setenv("XIWARP_IF", args->run.interface, 1)))
		return -1;
	return 0;
}

/* Usage, and what would fail in COMMAND with less to say about it. */
static int check(const struct xiw_args *args)
{
	char shown[256];

	if (args->json)
		return xiw_fail(XIW_EXIT_USAGE,
				"run: --json does not apply: what is printed is COMMAND's");
	if (args->run.interface && !if_nametoindex(args->run.interface))
		return xiw_fail(XIW_EXIT_NOT_FOUND, "%s: there is no such interface",
				xiw_printable(args->run.interface, shown, sizeof(shown)));
	return args->run.path == 1 + XIW_USE_DIRECT ? check_direct(args) : 0;
}

static int run_run(const struct xiw_args *args)
{
	char library[4096 + 64], trace[sizeof(library)], shown[256];
	int code = check(args);

	if (code)
		return code;
	if (!find_library(LIBRARY, library, sizeof(library)) ||
	    !find_library(TRACE, trace, sizeof(trace)))
		return xiw_fail(XIW_EXIT_FAILURE, LIBRARY
				" or " TRACE " is neither beside this command, nor in "
				"../lib, nor in " XIW_LIBDIR ": run 'make all', or 'make install'");
	if (!can_preload(library) || !can_preload(trace))
		return xiw_fail(XIW_EXIT_FAILURE,
				"the loader cannot preload %s: its path has a blank, a colon or "
				"a dollar sign; install or move xiwarp to a path without",
				xiw_printable(library, shown, sizeof(shown)));
	if (preload(library) || (args->run.trace && preload(trace)) || set_environment(args))
		return xiw_fail(XIW_EXIT_FAILURE, "the environment cannot be set: %s",
				strerror(errno));
	execvp(args->words[0], args->words);
	return xiw_fail(errno == ENOENT ? XIW_EXIT_NO_COMMAND : XIW_EXIT_NOT_EXECUTED, "%s: %s",
			xiw_printable(args->words[0], shown, sizeof(shown)), strerror(errno));
}

static const struct xiw_opt run_opts[] = {
	{ "if", .arg = "IF",
	  .help = "the only interface that becomes a device, and whose queues are taken; default: "
		  "all but those with an RNIC, and lo only if there is no other",
	  XIW_TEXT(run.interface, 1, IF_NAMESIZE - 1, "an interface's name") },
	{ "path", .arg = "PATH",
	  .help = "auto, direct or kernel; default $XIWARP_PATH, or auto. direct: if it is not to "
		  "be had, COMMAND is not started",
	  XIW_WORD(run.path, run_path_words) },
	{ "queues", .arg = "N",
	  .help = "take at most N receive queues of an interface, so that other programs find "
		  "some; default $XIWARP_QUEUES, or all that are free",
	  XIW_NUMBER(run.queues, 1, XIW_GROUP_ENGINES_MAX) },
	{ "extended",
	  .help = "with Immediate Data and atomic operations (RFC 7306); both ends must be run so",
	  XIW_FLAG(run.extended) },
	{ "send-first",
	  .help = "as a server that speaks first to clients that only answer, do so after half a "
		  "second, without RFC 5044's leave; Linux's siw has such clients",
	  XIW_FLAG(run.send_first) },
	{ "report", .help = "tell at the end how many octets COMMAND received by which path",
	  XIW_FLAG(run.report) },
	{ "trace",
	  .help = "tell what COMMAND calls and what it gets, a line for each call, on standard "
		  "error",
	  XIW_FLAG(run.trace) },
	{},
};

const struct xiw_cmd xiw_cmd_run = {
	.name = "run",
	.synopsis = "[--] COMMAND [ARGUMENT...]",
	.summary = "run a program that was written for RDMA hardware",
	.text = "Preloads " LIBRARY
		", which has the functions of libibverbs and librdmacm. COMMAND then "
		"finds a device xiw_IF for each interface IF that is up and has an address, and "
		"what "
		"it does with it goes over iWARP, to any iWARP peer. Devices of real hardware stay "
		"visible, and work as before, but identifiers of librdmacm belong to xiwarp.\n\n"
		"Any user may do this: what lacks the privilege for the direct path takes the "
		"kernel path. For the direct path a user needs what 'serve' needs, as ambient "
		"capabilities (setpriv --ambient-caps, a service's AmbientCapabilities=).\n\n"
		"The loader does not preload anything into programs that are linked statically, or "
		"are set-user-ID, or have file capabilities (setcap), and programs that look for "
		"functions by version (dlvsym) pass by the preloaded ones. If a program does not "
		"work, --trace shows which call it did not expect to fail. xiwarp-programs(7) says "
		"which programs were run, and how several share an interface.\n\n"
		"Options end at COMMAND. The exit code is that of COMMAND, or 127 if there is "
		"none, "
		"or 126 if it cannot be executed.",
	.examples = "sudo xiwarp run -- rping -s -v\n"
		    "xiwarp run -- rping -c -a receiver.example -v -C 10\n"
		    "xiwarp run --if eth0 -- ib_write_bw -R receiver.example\n",
	.opts = run_opts,
	.min_words = 1,
	.max_words = -1,
	.program = true,
	.run = run_run,
};
