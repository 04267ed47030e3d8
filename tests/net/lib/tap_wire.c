// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * tap_wire NETNS TAP NETNS TAP - makes a tap device in each of two network namespaces (paths), and carries frames
 * between them, with the header in which a VM and its host tell each other of unfinished checksums. Says "ready".
 */
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tests/net/lib/common.h"

static int open_tap(const char *netns, const char *name)
{
	struct ifreq ifr = { .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR };
	int ns = open(netns, O_RDONLY | O_CLOEXEC), fd;

	if (ns < 0 || setns(ns, CLONE_NEWNET))
		die("%s: %s", netns, strerror(errno));
	close(ns);
	fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	if (fd < 0 || ioctl(fd, TUNSETIFF, &ifr) || ioctl(fd, TUNSETOFFLOAD, TUN_F_CSUM))
		die("%s: %s", name, strerror(errno));
	return fd;
}

int main(int argc, char **argv)
{
	static char frame[65536 + 64];
	struct pollfd fds[2];
	ssize_t n;

	if (argc != 5)
		return 2;
	for (int i = 0; i < 2; i++)
		fds[i] = (struct pollfd){ .fd = open_tap(argv[1 + 2 * i], argv[2 + 2 * i]),
					  .events = POLLIN };
	puts("ready");
	fflush(stdout);
	while (poll(fds, 2, -1) >= 0)
		for (int i = 0; i < 2; i++)
			for (int k = 0; k < 64; k++) {
				n = read(fds[i].fd, frame, sizeof(frame));
				/* An interface that is down takes no frames. */
				if (n <= 0 || (write(fds[!i].fd, frame, (size_t)n) < 0 &&
					       errno != EIO && errno != EAGAIN))
					break;
			}
	return 1;
}
