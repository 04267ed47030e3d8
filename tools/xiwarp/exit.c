// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "exit.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

atomic_bool xiw_line_open;

int xiw_fail(int code, const char *fmt, ...)
{
	va_list args;

	flockfile(stderr); /* several threads may print */
	if (atomic_exchange(&xiw_line_open, false))
		fputc('\n', stderr);
	fputs("xiwarp: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	funlockfile(stderr);
	return code;
}

int xiw_exit_code(int err)
{
	switch (-err) {
	case 0:
		return XIW_EXIT_OK;
	case EPERM:
	case EACCES:
	case ENOBUFS: /* the memlock limit: of xiw_engine_prepare() alone */
		return XIW_EXIT_PRIVILEGE;
	case ENODEV:
	case ENOENT:
	case EUNATCH: /* one of the two programs is not attached */
		return XIW_EXIT_NOT_FOUND;
	case EBUSY:
	case EALREADY:
		return XIW_EXIT_BUSY;
	case EOPNOTSUPP:
	case ERANGE:
	case ENOSYS:
	case EAFNOSUPPORT:
		return XIW_EXIT_UNSUPPORTED;
	case EINVAL:
		return XIW_EXIT_USAGE;
	default:
		return XIW_EXIT_FAILURE;
	}
}

const char *xiw_remedy(int err)
{
	switch (err) {
	case -EMFILE:
		return ": raise the limit on open files (ulimit -n)";
	case -EADDRINUSE:
		return ": another program has that port ('ss -ltnp'): choose another one";
	case -EADDRNOTAVAIL:
		return ": no interface here has that address ('ip address')";
	case -ECONNREFUSED:
		return ": nobody listens there: start the other end first";
	case -EHOSTUNREACH:
	case -ENETUNREACH:
		return ": no way there ('ip route get')";
	default:
		return "";
	}
}
