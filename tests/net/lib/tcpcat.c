/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tcpcat - plain TCP between two tests.
 *
 *   tcpcat -l PORT      accept one connection, on IPv4 or IPv6, and write what it brings to stdout
 *   tcpcat HOST PORT    connect, send stdin, and wait for the peer to close
 */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void die(const char *what, const char *why)
{
	fprintf(stderr, "tcpcat: %s: %s\n", what, why);
	exit(1);
}

static struct addrinfo *resolve(const char *host, const char *port)
{
	struct addrinfo hints = {
		.ai_family = host ? AF_UNSPEC : AF_INET6,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | (host ? 0 : AI_PASSIVE),
	};
	struct addrinfo *ai;
	int err = getaddrinfo(host, port, &hints, &ai);

	if (err)
		die(host ? host : port, gai_strerror(err));
	return ai;
}

/* Copies until the end of `in`. */
static void copy(int in, int out)
{
	static char buf[1 << 18];
	ssize_t got, put, n;

	while ((got = read(in, buf, sizeof(buf))) != 0) {
		if (got < 0)
			die("read", strerror(errno));
		for (put = 0; put < got; put += n) {
			n = write(out, buf + put, got - put);
			if (n < 0)
				die("write", strerror(errno));
		}
	}
}

static int accept_one(const char *port)
{
	struct addrinfo *ai = resolve(NULL, port);
	int listener = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), off = 0, on = 1, fd;

	if (listener < 0)
		die("socket", strerror(errno));
	if (setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) ||
	    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(listener, ai->ai_addr, ai->ai_addrlen) || listen(listener, 1))
		die("listen", strerror(errno));
	freeaddrinfo(ai);
	fd = accept(listener, NULL, NULL);
	if (fd < 0)
		die("accept", strerror(errno));
	close(listener);
	return fd;
}

static int connect_to(const char *host, const char *port)
{
	struct addrinfo *ai = resolve(host, port);
	int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		die("socket", strerror(errno));
	if (connect(fd, ai->ai_addr, ai->ai_addrlen))
		die(host, strerror(errno));
	freeaddrinfo(ai);
	return fd;
}

int main(int argc, char **argv)
{
	int fd;

	if (argc != 3) {
		fprintf(stderr, "usage: tcpcat -l PORT | tcpcat HOST PORT\n");
		return 2;
	}
	if (!strcmp(argv[1], "-l")) {
		fd = accept_one(argv[2]);
		copy(fd, STDOUT_FILENO);
	} else {
		fd = connect_to(argv[1], argv[2]);
		copy(STDIN_FILENO, fd);
		if (shutdown(fd, SHUT_WR))
			die("shutdown", strerror(errno));
		copy(fd, STDERR_FILENO);
	}
	return close(fd) ? 1 : 0;
}
