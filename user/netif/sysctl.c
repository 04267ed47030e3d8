// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "netif/sysctl.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

unsigned long xiw_sysctl_net(const char *path)
{
	char whole[160], text[32];
	ssize_t len = -1;
	long number;
	int fd;

	snprintf(whole, sizeof(whole), "/proc/sys/net/%s", path);
	fd = open(whole, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		len = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	if (len <= 0)
		return 0;
	text[len] = '\0';
	number = strtol(text, NULL, 10);
	return number > 0 ? (unsigned long)number : 0;
}
