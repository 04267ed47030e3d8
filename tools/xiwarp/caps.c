// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "caps.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "exit.h"
#include "text.h"

#define BIT(cap) (1ull << (cap))
#define RECEIVER (BIT(CAP_NET_ADMIN) | BIT(CAP_NET_RAW) | BIT(CAP_IPC_LOCK) | BIT(CAP_DAC_OVERRIDE))

const struct xiw_caps_row xiw_caps_rows[] = {
	{ "load", NULL,
	  BIT(CAP_NET_ADMIN) | BIT(CAP_BPF) | BIT(CAP_PERFMON) | BIT(CAP_DAC_OVERRIDE), 0 },
	{ "unload", NULL, BIT(CAP_NET_ADMIN) | BIT(CAP_DAC_OVERRIDE), 0 },
	{ "status", NULL, BIT(CAP_DAC_READ_SEARCH), 0 },
	{ "serve", "direct", RECEIVER, BIT(CAP_NET_ADMIN) },
	{ "serve", "kernel", 0, 0 },
	{ "sink", "direct", RECEIVER, BIT(CAP_NET_ADMIN) },
	{ "sink", "kernel", 0, 0 },
	{ "put", "kernel", 0, 0 },
	{ "rping", "direct", RECEIVER, BIT(CAP_NET_ADMIN) },
	{ "rping", "kernel", 0, 0 },
	{ "perf", "direct", RECEIVER, BIT(CAP_NET_ADMIN) },
	{ "perf", "kernel", 0, 0 },
	{ NULL, NULL, 0, 0 },
};

const char *const xiw_caps_notes[] = {
	"CAP_DAC_OVERRIDE (to read only, CAP_DAC_READ_SEARCH) opens the pins of another user; "
	"root's pins are another user's to everybody else. Root, and the user whom an "
	"interface's pins were given to, do without it.",
	"CAP_IPC_LOCK can be replaced by a memlock limit of 17 MiB per receive queue, or 33 MiB "
	"where the MTU is above 1500; with zero-copy 33 MiB, too: with less, frames are copied.",
	"serve, sink, rping and perf open everything when they start, for the interfaces that "
	"xiwarp is loaded on by then, and go on with the capability that they keep: with it they "
	"read each connection's sequence numbers (TCP_REPAIR). They also keep CAP_DAC_OVERRIDE if "
	"they could not write files without it, and say so; put keeps CAP_DAC_READ_SEARCH if it "
	"has that. The other capabilities leave the bounding set too, which takes CAP_SETPCAP, "
	"and no_new_privs is set.",
	"Some uses take more: load --replace takes CAP_SYS_ADMIN, to put the other program back "
	"if loading fails; mounting the BPF file system takes CAP_SYS_ADMIN; a port below 1024 "
	"takes CAP_NET_BIND_SERVICE.",
	NULL,
};

static const struct {
	int cap;
	const char *name;
} names[] = {
	{ CAP_NET_ADMIN, "CAP_NET_ADMIN" },
	{ CAP_NET_RAW, "CAP_NET_RAW" },
	{ CAP_BPF, "CAP_BPF" },
	{ CAP_PERFMON, "CAP_PERFMON" },
	{ CAP_IPC_LOCK, "CAP_IPC_LOCK" },
	{ CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE" },
	{ CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH" },
};

const char *xiw_caps_text(uint64_t caps, char *buf, size_t len)
{
	size_t n = 0;

	snprintf(buf, len, "none");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && n < len; i++)
		if (caps & BIT(names[i].cap))
			n += (size_t)snprintf(buf + n, len - n, "%s%s", n ? ", " : "",
					      names[i].name);
	return buf;
}

static int get_caps(uint64_t *permitted, uint64_t *effective)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {};

	if (syscall(SYS_capget, &header, data))
		return -errno;
	*permitted = data[0].permitted | (uint64_t)data[1].permitted << 32;
	*effective = data[0].effective | (uint64_t)data[1].effective << 32;
	return 0;
}

/* Inheritable capabilities are always given up. */
static int set_caps(uint64_t permitted, uint64_t effective)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {
		{ .permitted = (uint32_t)permitted, .effective = (uint32_t)effective },
		{ .permitted = permitted >> 32, .effective = effective >> 32 },
	};

	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

/* The bounding set limits what an executed file could give back; removing from it takes CAP_SETPCAP. */
static int shrink_bounding(uint64_t keep)
{
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		if (!(keep & BIT(cap)) && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0))
			return -errno;
	return 0;
}

static uint64_t kept_by(const char *cmd, bool direct)
{
	for (const struct xiw_caps_row *r = xiw_caps_rows; r->cmd; r++)
		if (!strcmp(r->cmd, cmd) && r->path &&
		    !strcmp(r->path, direct ? "direct" : "kernel"))
			return r->keeps;
	return 0;
}

int xiw_caps_writable(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return -errno;
	return faccessat(AT_FDCWD, path, S_ISDIR(st.st_mode) ? W_OK | X_OK : W_OK, AT_EACCESS)
		       ? -errno
		       : 0;
}

/* Can files be made in `dir` only with CAP_DAC_OVERRIDE? The kernel is asked with it and without it. */
static bool override_needed(const char *dir, uint64_t permitted, uint64_t effective)
{
	bool without, with;

	if (set_caps(permitted, effective & ~BIT(CAP_DAC_OVERRIDE)))
		return false;
	without = !xiw_caps_writable(dir);
	if (set_caps(permitted, effective))
		return false;
	with = !xiw_caps_writable(dir);
	return with && !without;
}

static uint64_t kept_for_files(enum xiw_caps_files files, const char *dir, uint64_t permitted,
			       uint64_t effective)
{
	char shown[256];

	if (files == XIW_CAPS_READ)
		return BIT(CAP_DAC_READ_SEARCH);
	if (files == XIW_CAPS_NO_FILES || !override_needed(dir, permitted, effective))
		return 0;
	xiw_fail(0, "keeps CAP_DAC_OVERRIDE, without which it cannot write to %s",
		 xiw_printable(dir, shown, sizeof(shown)));
	return BIT(CAP_DAC_OVERRIDE);
}

/*
 * The dumpable attribute stays as it is: a process with fewer capabilities cannot look into one that keeps some
 * (ptrace(2)), and a process that keeps none holds nothing that its user could not have.
 */
int xiw_caps_drop(const char *cmd, bool direct, enum xiw_caps_files files, const char *dir)
{
	uint64_t keep = kept_by(cmd, direct), permitted = 0, effective = 0;
	int err = get_caps(&permitted, &effective);

	if (!err)
		keep |= kept_for_files(files, dir, permitted, effective);
	keep &= permitted;
	if (!err && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err = -errno;
	if (!err && effective & BIT(CAP_SETPCAP))
		err = shrink_bounding(keep);
	if (!err && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))
		err = -errno;
	if (!err)
		err = set_caps(keep, keep & effective);
	return err ? xiw_fail(XIW_EXIT_FAILURE, "cannot give up capabilities: %s", strerror(-err))
		   : 0;
}
