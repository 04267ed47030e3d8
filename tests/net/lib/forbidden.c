// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * forbidden CALL:ERROR... -- COMMAND...: runs COMMAND under a seccomp filter that answers system calls with an error,
 * as those of container engines do. CALL `io_uring` is all three of its calls; `xdp` is socket(AF_XDP). Root needs no
 * PR_SET_NO_NEW_PRIVS for that, so that programs with set-user-ID are still what they are.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	const char *name;
	unsigned int first, last;
} calls[] = {
	{ "io_uring", __NR_io_uring_setup, __NR_io_uring_register },
	{ "io_uring_setup", __NR_io_uring_setup, __NR_io_uring_setup },
	{ "io_uring_enter", __NR_io_uring_enter, __NR_io_uring_enter },
	{ "io_uring_register", __NR_io_uring_register, __NR_io_uring_register },
	{ "epoll_pwait2", __NR_epoll_pwait2, __NR_epoll_pwait2 },
	{ "bpf", __NR_bpf, __NR_bpf },
	{ "xdp", __NR_socket, __NR_socket },
};

static const struct {
	const char *name;
	unsigned int number;
} errors[] = {
	{ "EPERM", EPERM },   { "EACCES", EACCES }, { "ENOSYS", ENOSYS },
	{ "EINVAL", EINVAL }, { "ENOMEM", ENOMEM }, { "EAFNOSUPPORT", EAFNOSUPPORT },
};

static int usage(const char *what)
{
	fprintf(stderr, "forbidden: %s: CALL:ERROR... -- COMMAND...\n", what);
	return 2;
}

static int install(struct sock_filter *code, unsigned short n)
{
	struct sock_fprog p = { n, code };

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p) &&
	    (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	     prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p))) {
		perror("seccomp");
		return -1;
	}
	return 0;
}

static int forbid(unsigned int first, unsigned int last, bool xdp, unsigned int error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, first, 0, 4),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, last, 3, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_XDP, 0, xdp ? 1 : 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return install(code, sizeof(code) / sizeof(code[0]));
}

static int forbid_named(const char *what)
{
	const char *colon = strchr(what, ':');

	for (unsigned int c = 0; colon && c < sizeof(calls) / sizeof(calls[0]); c++) {
		if (strncmp(what, calls[c].name, (size_t)(colon - what)) ||
		    calls[c].name[colon - what])
			continue;
		for (unsigned int e = 0; e < sizeof(errors) / sizeof(errors[0]); e++)
			if (!strcmp(colon + 1, errors[e].name))
				return forbid(calls[c].first, calls[c].last,
					      !strcmp(calls[c].name, "xdp"), errors[e].number);
	}
	return usage(what);
}

int main(int argc, char **argv)
{
	int i = 1;

	for (; i < argc && strcmp(argv[i], "--"); i++) {
		int rc = forbid_named(argv[i]);

		if (rc)
			return rc < 0 ? 1 : rc;
	}
	if (i + 1 >= argc)
		return usage("no command");
	execvp(argv[i + 1], argv + i + 1);
	perror(argv[i + 1]);
	return 127;
}
