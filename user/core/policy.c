// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Reads the administrator's policy for a host from its file; see policy.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/policy.h"

#define CONF_MAX 4096
#define BLANK " \t\r"

/* Reads one line, which strtok_r() changes. False: the line makes no sense. */
static bool take_line(char *line, enum xiw_crc_policy *crc)
{
	static const char *const words[] = {
		[XIW_CRC_REQUIRED] = "required",
		[XIW_CRC_OPTIONAL] = "optional",
		[XIW_CRC_OFF] = "off",
	};
	char *rest, *key, *value;

	line[strcspn(line, "#")] = '\0';
	key = strtok_r(line, BLANK, &rest);
	if (!key)
		return true;
	value = strtok_r(NULL, BLANK, &rest);
	if (strcmp(key, "crc") || !value || strtok_r(NULL, BLANK, &rest))
		return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strcmp(value, words[i])) {
			*crc = (enum xiw_crc_policy)i;
			return true;
		}
	}
	return false;
}

static enum xiw_crc_policy take_text(const char *path, char *text, char *why, size_t len)
{
	enum xiw_crc_policy crc = XIW_CRC_REQUIRED;
	unsigned int number = 1;

	for (char *line = text, *next; line; line = next, number++) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (!take_line(line, &crc)) {
			snprintf(why, len, "%s: line %u is not 'crc required|optional|off'", path,
				 number);
			return XIW_CRC_REQUIRED;
		}
	}
	return crc;
}

enum xiw_crc_policy xiw_policy_crc_of(const char *path, char *why, size_t len)
{
	/* Opening a FIFO must not wait for a writer. Others than root may control where a symbolic link leads. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char text[CONF_MAX + 1];
	struct stat st;
	ssize_t n = -1;

	*why = '\0';
	if (fd < 0) {
		if (errno != ENOENT)
			snprintf(why, len, "%s: %s", path, strerror(errno));
		return XIW_CRC_REQUIRED;
	}
	if (fstat(fd, &st))
		snprintf(why, len, "%s: %s", path, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		snprintf(why, len, "%s is no file", path);
	else if (st.st_uid || st.st_mode & (S_IWGRP | S_IWOTH))
		snprintf(why, len, "%s: others than root can write there: chown root, chmod go-w",
			 path);
	else if ((n = read(fd, text, sizeof(text))) < 0)
		snprintf(why, len, "%s: %s", path, strerror(errno));
	else if (n > CONF_MAX || memchr(text, 0, (size_t)n))
		snprintf(why, len, "%s: longer than %d octets, or no text", path, CONF_MAX);
	close(fd);
	if (*why)
		return XIW_CRC_REQUIRED;
	text[n] = '\0';
	return take_text(path, text, why, len);
}

enum xiw_crc_policy xiw_policy_crc(char *why, size_t len)
{
	const char *path = getuid() || geteuid() ? NULL : secure_getenv("XIW_CONF");

	return xiw_policy_crc_of(path ? path : XIW_CONF_FILE, why, len);
}
