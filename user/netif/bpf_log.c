// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "netif/bpf_log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static __thread char last_line[256];

static int keep_line(enum libbpf_print_level level, const char *fmt, va_list args)
{
	char line[sizeof(last_line)], *end;
	const char *text = line;

	if (level != LIBBPF_WARN)
		return 0;
	vsnprintf(line, sizeof(line), fmt, args);
	end = strchr(line, '\n');
	if (end)
		*end = '\0';
	if (!strncmp(text, "libbpf: ", 8))
		text += 8;
	/* The kernel's own message says more than libbpf's line after it. */
	if (*text && strncmp(last_line, "Kernel error message: ", 22))
		snprintf(last_line, sizeof(last_line), "%s", text);
	return 0;
}

void xiw_bpf_log_clear(void)
{
	last_line[0] = '\0';
}

void xiw_bpf_log_begin(struct xiw_bpf_log *log)
{
	xiw_bpf_log_clear();
	log->old = libbpf_set_print(keep_line);
}

void xiw_bpf_log_end(struct xiw_bpf_log *log)
{
	libbpf_set_print(log->old);
}

const char *xiw_bpf_log_line(void)
{
	return strncmp(last_line, "Kernel error message: ", 22) ? last_line : last_line + 22;
}

const char *xiw_bpf_log_remark(void)
{
	static __thread char remark[sizeof(last_line) + 4];

	remark[0] = '\0';
	if (*xiw_bpf_log_line())
		snprintf(remark, sizeof(remark), " (%s)", xiw_bpf_log_line());
	return remark;
}
