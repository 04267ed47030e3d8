/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Capabilities: what each command needs and keeps. --help and the man page are made from this table, and
 * tests/net/admin/test_privilege.sh holds the commands to it.
 */
#ifndef XIW_TOOL_CAPS_H
#define XIW_TOOL_CAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xiw_caps_row {
	const char *cmd;
	const char *path; /* direct, kernel; NULL: it makes no difference */
	uint64_t needs, keeps;
};
extern const struct xiw_caps_row xiw_caps_rows[]; /* ends with cmd NULL */
extern const char *const xiw_caps_notes[];	  /* ends with NULL */
/* "CAP_NET_ADMIN, CAP_BPF", or "none". */
const char *xiw_caps_text(uint64_t caps, char *buf, size_t len);

/* What a command keeps besides the table's, to reach the user's files. */
enum xiw_caps_files {
	XIW_CAPS_NO_FILES,
	XIW_CAPS_READ, /* files that the user named are still to be opened */
	XIW_CAPS_WRITE,
};
/*
 * Gives up every capability except those that `cmd` keeps on this path, for good: programs that it might start cannot
 * get them back. With XIW_CAPS_WRITE, `dir` is where files will be made, or a file that will be written to. On failure
 * prints a line and returns an exit code.
 */
int xiw_caps_drop(const char *cmd, bool direct, enum xiw_caps_files files, const char *dir);
/* Can files be made in this directory, or can this file be written to? 0 or negative errno. */
int xiw_caps_writable(const char *path);

#endif
