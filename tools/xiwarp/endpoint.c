// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "endpoint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "caps.h"
#include "core/policy.h"
#include "exit.h"
#include "report.h"
#include "text.h"

/* XIWARP_RING insists on io_uring. Without it the engine would have epoll. */
static int ring_refused(int err)
{
	struct utsname uts;

	if (err == -EINVAL && !uname(&uts))
		return xiw_fail(XIW_EXIT_UNSUPPORTED,
				"XIWARP_RING: io_uring of kernel %s is too old, it is of use from "
				"Linux 6.1 on: unset XIWARP_RING, and the engine has epoll",
				uts.release);
	return xiw_fail(err == -ENOSYS ? XIW_EXIT_UNSUPPORTED : XIW_EXIT_PRIVILEGE,
			"XIWARP_RING: io_uring is forbidden here (%s): unset XIWARP_RING, or set "
			"sysctl kernel.io_uring_disabled=0, and have the container's seccomp "
			"profile allow io_uring_setup, io_uring_enter and io_uring_register",
			strerror(-err));
}

static int engine_failed(int err)
{
	const char *ring = getenv("XIWARP_RING");
	char shown[256];

	if (ring && !strcmp(ring, "io_uring") &&
	    (err == -EPERM || err == -EACCES || err == -ENOSYS || err == -EINVAL))
		return ring_refused(err);
	if (err == -ENAMETOOLONG)
		return xiw_fail(XIW_EXIT_USAGE, "the pin directory's name is too long");
	/* The other options of the engine are fixed. */
	if (err == -EINVAL && ring)
		return xiw_fail(XIW_EXIT_USAGE, "XIWARP_RING: '%s' is not io_uring or epoll",
				xiw_printable(ring, shown, sizeof(shown)));
	return xiw_fail(XIW_EXIT_FAILURE, "cannot start the engine: %s%s", strerror(-err),
			err == -ENOMEM ? ": no memory, or the memlock limit (ulimit -l) is too low"
				       : xiw_remedy(err));
}

/* Thousands of connections are what `perf` is asked for, and each may have a stage of 256 KiB. */
#define PERF_BUDGET (4ull << 30)

static struct xiw_engine_opts engine_opts(const struct xiw_args *args, enum xiw_use_path path)
{
	return (struct xiw_engine_opts){
		.size = sizeof(struct xiw_engine_opts),
		.app_ring_fd = -1,
		.path = path,
		.pin_dir = args->pin_dir,
		.memory = args->cmd == &xiw_cmd_perf ? PERF_BUDGET : 0,
		.flags = args->receiver.trust_checksum ? XIW_ENGINE_TRUST_CHECKSUM : 0,
	};
}

int xiw_endpoint_open(const struct xiw_args *args, enum xiw_use_path path,
		      struct xiw_engine **engine)
{
	const struct xiw_engine_opts opts = engine_opts(args, path);
	int err = xiw_engine_create(&opts, engine);

	if (err)
		return engine_failed(err);
	xiw_report_ring(*engine);
	return 0;
}

int xiw_endpoint_open_group(const struct xiw_args *args, struct xiw_group **group)
{
	const enum xiw_use_path path = args->receiver.path;
	const struct xiw_engine_opts engine = engine_opts(args, path);
	const struct xiw_group_opts opts = {
		.size = sizeof(opts),
		.engines = args->receiver.threads ? args->receiver.threads : path == XIW_USE_KERNEL,
		.engine = &engine,
	};
	int err = xiw_group_create(&opts, group);

	if (err)
		return engine_failed(err);
	xiw_report_ring(xiw_group_engine(*group, 0));
	return 0;
}

/* The engine has read the same file when it was made. */
static void report_crc_policy(const struct xiw_args *args)
{
	char why[256];
	enum xiw_crc_policy policy = xiw_policy_crc(why, sizeof(why));

	if (*why)
		xiw_fail(0, "%s; CRC32c stays on", why);
	else if (args->mpa.crc_off && policy == XIW_CRC_REQUIRED)
		xiw_fail(0, "--crc off: the administrator has not allowed it, by 'crc optional' "
			    "in " XIW_CONF_FILE "; CRC32c stays on");
}

/* Checked before anything is received: at the end it would be lost. */
static int check_output(const char *dir)
{
	const int err = dir ? xiw_caps_writable(dir) : 0;
	char shown[256];
	struct stat st;

	if (!err)
		return 0;
	return xiw_fail(err == -EACCES ? XIW_EXIT_PRIVILEGE : XIW_EXIT_FAILURE,
			"cannot write to %s%s: %s",
			!stat(dir, &st) && !S_ISDIR(st.st_mode) ? "" : "directory ",
			xiw_printable(dir, shown, sizeof(shown)), strerror(-err));
}

/* `err` and `why` are what xiw_engine_prepare() has returned. */
static int prepared(const struct xiw_args *args, int err, const char *why)
{
	const enum xiw_use_path path = args->receiver.path;

	if (err && path == XIW_USE_DIRECT)
		return xiw_fail(xiw_exit_code(err), "--path direct: %s%s", why,
				!strstr(why, "is missing")		   ? xiw_remedy(err)
				: xiw_exit_code(err) == XIW_EXIT_PRIVILEGE ? ": run as root"
									   : xiw_remedy(err));
	if (*why && path != XIW_USE_KERNEL)
		xiw_fail(0, "%s: %s%s", err ? "no direct path" : "the direct path is not complete",
			 why, xiw_remedy(err));
	return 0;
}

int xiw_endpoint_drop(const struct xiw_args *args, bool direct, const char *output_dir)
{
	return xiw_caps_drop(args->cmd->name, direct,
			     output_dir ? XIW_CAPS_WRITE : XIW_CAPS_NO_FILES, output_dir);
}

/* What comes before the direct path is opened. */
static int begin(const struct xiw_args *args, const char *output_dir)
{
	int code = check_output(output_dir);

	if (!code)
		report_crc_policy(args);
	return code;
}

int xiw_endpoint_prepare(const struct xiw_args *args, struct xiw_engine *engine,
			 const struct sockaddr *addr, const char *output_dir)
{
	char why[256];
	int err, code = begin(args, output_dir);

	if (code)
		return code;
	err = xiw_engine_prepare(engine, addr, why, sizeof(why));
	code = prepared(args, err, why);
	return code ? code : xiw_endpoint_drop(args, !err, output_dir);
}

int xiw_endpoint_ready_group(const struct xiw_args *args, struct xiw_group *group,
			     const struct sockaddr *addr, const char *output_dir, bool *direct)
{
	char why[256];
	int err, code = begin(args, output_dir);

	if (code)
		return code;
	err = xiw_group_prepare(group, addr, why, sizeof(why));
	*direct = !err;
	return prepared(args, err, why);
}

void xiw_endpoint_limits(const struct xiw_args *args, struct xiw_conn_opts *opts)
{
	unsigned int ms = args->receiver.peer_timeout * 1000;

	opts->keepalive_ms = ms / 2;
	opts->user_timeout_ms = opts->close_timeout_ms = ms;
}

int xiw_endpoint_turn(struct xiw_engine *engine, int wait_ms)
{
	int n = xiw_engine_run(engine, wait_ms);

	return n < 0 && n != -EINTR
		       ? xiw_fail(XIW_EXIT_FAILURE, "the engine failed: %s", strerror(-n))
		       : 0;
}
