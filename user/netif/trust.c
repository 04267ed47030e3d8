// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "netif/trust.h"

#define PATH_LEN 512

static bool open_to_others(const struct stat *st)
{
	return st->st_mode & (S_IWGRP | S_IWOTH);
}

static bool ours(const struct stat *st)
{
	return st->st_uid == 0 || st->st_uid == geteuid();
}

/*
 * Checks one directory of the path. In a sticky directory others may make names, but not remove or rename ours. The
 * last directory may have been given to another user, if only root or this user can write where it lies.
 */
static int check(const char *at, bool last, const struct stat *parent, struct stat *st, char *why,
		 size_t len)
{
	if (lstat(at, st)) {
		int err = errno == EACCES ? -EPERM : -errno;

		if (err == -EPERM)
			snprintf(why, len, "CAP_DAC_OVERRIDE is missing to look for %s", at);
		else
			snprintf(why, len, "%s: %s", at, strerror(-err));
		return err;
	}
	if (!S_ISDIR(st->st_mode)) {
		snprintf(why, len, "%s is %s: remove it", at,
			 S_ISLNK(st->st_mode) ? "a symbolic link" : "not a directory");
		return -EUCLEAN;
	}
	if (!ours(st) && (!last || open_to_others(parent))) {
		snprintf(why, len, "%s is user %u's: remove it", at, (unsigned int)st->st_uid);
		return -EUCLEAN;
	}
	if (open_to_others(st) && (last || !(st->st_mode & S_ISVTX))) {
		snprintf(why, len, "%s: others can write there: chmod go-w", at);
		return -EUCLEAN;
	}
	return 0;
}

int xiw_trust_dir(const char *dir, char *why, size_t len)
{
	struct stat parent = {}, st;
	char at[PATH_LEN];
	size_t end = 0;
	int err;

	if (strlen(dir) >= sizeof(at))
		return -ENAMETOOLONG;
	err = check(*dir == '/' ? "/" : ".", false, &parent, &st, why, len);
	while (!err) {
		end += strspn(dir + end, "/");
		if (!dir[end])
			break;
		end += strcspn(dir + end, "/");
		memcpy(at, dir, end);
		at[end] = '\0';
		parent = st;
		err = check(at, !dir[end + strspn(dir + end, "/")], &parent, &st, why, len);
	}
	return err;
}
