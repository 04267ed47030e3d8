/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * base/socket.h - TCP sockets of the kernel. Libraries that a program preloads may have a socket() of their own, which
 * makes something else of streams, as librspreload does. The system call does not pass through it.
 */
#ifndef XIW_BASE_SOCKET_H
#define XIW_BASE_SOCKET_H

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Returns a descriptor, or -1 with errno. */
static inline int xiw_socket_tcp(int family)
{
	return (int)syscall(SYS_socket, family, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);
}

#endif
