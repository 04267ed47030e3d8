// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a local user without privilege might try. Each command prints what was possible. Exit codes: 1 something was
 * possible, 0 everything was refused, 2 usage, or the attempt itself failed.
 *
 *   privilege maps PATH...         open these pins, and what can be found by its number
 *   privilege pry PID              look into a process: its memory, its descriptors
 *   privilege sockets              make the sockets that could inject or take segments
 *   privilege tuple L LPORT R RPORT   take a connection's place, from its own end
 *   privilege forge SRC SPORT DST DPORT   send a SYN in another host's name; 0 if it was sent (the other way
 *                                         round: this is about what comes of it)
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef IPV6_FREEBIND
#define IPV6_FREEBIND 78
#endif
#ifndef IPV6_TRANSPARENT
#define IPV6_TRANSPARENT 75
#endif
#ifndef AF_XDP
#define AF_XDP 44
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

#define IDS 4096 /* of BPF objects: these come from a counter */

static int could;

/* A descriptor or 0 means success; the errno must be one of refusal. */
static void tried(const char *what, const char *on, long result)
{
	if (result >= 0)
		printf("%s %s: done\n", what, on);
	else if (errno != EPERM && errno != EACCES && errno != EADDRINUSE)
		printf("%s %s: %s, which is no refusal\n", what, on, strerror(errno));
	else
		return;
	could = 1;
}

static long bpf(int cmd, union bpf_attr *attr)
{
	return syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

static void open_pin(const char *path)
{
	const uint32_t flags[] = { 0, BPF_F_RDONLY, BPF_F_WRONLY };

	for (int i = 0; i < 3; i++) {
		union bpf_attr attr = { .pathname = (uintptr_t)path, .file_flags = flags[i] };

		tried("open", path, bpf(BPF_OBJ_GET, &attr));
	}
	tried("rename", path, rename(path, "/sys/fs/bpf/mine"));
	tried("remove", path, unlink(path));
	tried("change", path, chmod(path, 0666));
	tried("own", path, chown(path, geteuid(), (gid_t)-1));
}

static int maps(char **paths)
{
	const int by_id[] = { BPF_MAP_GET_FD_BY_ID, BPF_PROG_GET_FD_BY_ID, BPF_LINK_GET_FD_BY_ID };
	const char *const names[] = { "map", "program", "link" };

	for (; *paths; paths++)
		open_pin(*paths);
	for (int i = 0; i < 3; i++) {
		for (uint32_t id = 1; id < IDS; id++) {
			union bpf_attr attr = { .map_id = id };
			long fd = bpf(by_id[i], &attr);

			/* The kernel checks the capability first, so that any other answer tells too much. */
			tried("by number", names[i], fd);
			if (could)
				break;
		}
	}
	return could;
}

static void pry_descriptors(pid_t pid, const char *name)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (pidfd < 0) {
		tried("pidfd of", name, -1);
		return;
	}
	for (int fd = 0; fd < 64; fd++) {
		char path[64], link[64];

		tried("descriptor of", name, syscall(SYS_pidfd_getfd, pidfd, fd, 0));
		snprintf(path, sizeof(path), "/proc/%s/fd/%d", name, fd);
		if (readlink(path, link, sizeof(link)) >= 0 || errno != ENOENT)
			tried("link of", path, readlink(path, link, sizeof(link)));
	}
	close(pidfd);
}

static int pry(const char *name)
{
	static const char *const files[] = { "mem", "maps", "environ", "syscall" };
	pid_t pid = (pid_t)atoi(name);
	char path[64], octet;
	struct iovec here = { &octet, 1 }, there = { (void *)0x1000, 1 };

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		int fd;

		snprintf(path, sizeof(path), "/proc/%s/%s", name, files[i]);
		fd = open(path, O_RDONLY);
		/* These can be opened, but reading them fails. */
		if (fd >= 0 && read(fd, &octet, 1) < 0 && (errno == EPERM || errno == EACCES))
			continue;
		tried("open", path, fd);
	}
	tried("memory of", name, process_vm_readv(pid, &here, 1, &there, 1, 0));
	pry_descriptors(pid, name);
	tried("trace", name, ptrace(PTRACE_SEIZE, pid, NULL, NULL));
	return could;
}

static int sockets(void)
{
	int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0), fd6 = socket(AF_INET6, SOCK_STREAM, 0);

	tried("socket", "raw", socket(AF_INET, SOCK_RAW, IPPROTO_RAW));
	tried("socket", "raw TCP", socket(AF_INET, SOCK_RAW, IPPROTO_TCP));
	tried("socket", "raw IPv6", socket(AF_INET6, SOCK_RAW, IPPROTO_RAW));
	tried("socket", "packet", socket(AF_PACKET, SOCK_RAW, 0));
	tried("socket", "packet, cooked", socket(AF_PACKET, SOCK_DGRAM, 0));
	tried("socket", "XDP", socket(AF_XDP, SOCK_RAW, 0));
	tried("set", "TCP_REPAIR", setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &one, sizeof(one)));
	tried("set", "IP_TRANSPARENT",
	      setsockopt(fd, IPPROTO_IP, IP_TRANSPARENT, &one, sizeof(one)));
	tried("set", "IPV6_TRANSPARENT",
	      setsockopt(fd6, IPPROTO_IPV6, IPV6_TRANSPARENT, &one, sizeof(one)));
	tried("set", "SO_MARK", setsockopt(fd, SOL_SOCKET, SO_MARK, &one, sizeof(one)));
	return could;
}

static bool address(const char *text, const char *port, struct sockaddr_storage *addr,
		    socklen_t *len)
{
	struct sockaddr_in6 *in6 = (void *)addr;
	struct sockaddr_in *in = (void *)addr;

	memset(addr, 0, sizeof(*addr));
	if (inet_pton(AF_INET, text, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons((uint16_t)atoi(port));
		*len = sizeof(*in);
		return true;
	}
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons((uint16_t)atoi(port));
	*len = sizeof(*in6);
	return inet_pton(AF_INET6, text, &in6->sin6_addr) == 1;
}

/* With every option that shares addresses, and without. */
static int tuple(char **argv)
{
	struct sockaddr_storage local, remote;
	socklen_t len;
	int one = 1;

	if (!address(argv[0], argv[1], &local, &len) || !address(argv[2], argv[3], &remote, &len))
		return 2;
	for (int options = 0; options < 4; options++) {
		int fd = socket(local.ss_family, SOCK_STREAM, 0);

		if (options & 1)
			setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		if (options & 2)
			setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
		if (bind(fd, (void *)&local, len))
			tried("bind", argv[0], -1);
		else if (listen(fd, 1))
			tried("connect", argv[2], connect(fd, (void *)&remote, len));
		else
			tried("listen", argv[0], 0);
		close(fd);
	}
	return could;
}

static int forge(char **argv)
{
	struct sockaddr_storage from, to;
	socklen_t len;
	int one = 1, fd;

	if (!address(argv[0], argv[1], &from, &len) || !address(argv[2], argv[3], &to, &len))
		return 2;
	fd = socket(from.ss_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (from.ss_family == AF_INET)
		setsockopt(fd, IPPROTO_IP, IP_FREEBIND, &one, sizeof(one));
	else
		setsockopt(fd, IPPROTO_IPV6, IPV6_FREEBIND, &one, sizeof(one));
	if (bind(fd, (void *)&from, len)) {
		printf("bind: %s\n", strerror(errno));
		return 1;
	}
	if (connect(fd, (void *)&to, len) && errno != EINPROGRESS) {
		printf("connect: %s\n", strerror(errno));
		return 1;
	}
	/* Over lo it has arrived by now. */
	close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "maps"))
		return maps(argv + 2);
	if (!strcmp(what, "pry") && argc == 3)
		return pry(argv[2]);
	if (!strcmp(what, "sockets"))
		return sockets();
	if (!strcmp(what, "tuple") && argc == 6)
		return tuple(argv + 2);
	if (!strcmp(what, "forge") && argc == 6)
		return forge(argv + 2);
	fprintf(stderr, "usage: see the source\n");
	return 2;
}
