// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "out.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exit.h"
#include "signals.h"
#include "text.h"

static int failed(const char *file, int err)
{
	char shown[256];

	return xiw_fail(err == EACCES ? XIW_EXIT_PRIVILEGE : XIW_EXIT_FAILURE,
			"cannot write %s: %s", xiw_printable(file, shown, sizeof(shown)),
			strerror(err));
}

/* The directory of `path`. */
static void directory_of(const char *path, char dir[4096])
{
	char *slash;

	snprintf(dir, 4096, "%s", path);
	slash = strrchr(dir, '/');
	if (slash)
		slash[slash == dir] = '\0';
	else
		snprintf(dir, 4096, ".");
}

static void look_plain(const char *file, struct xiw_out *out)
{
	snprintf(out->path, sizeof(out->path), "%s", file);
	directory_of(file, out->where);
}

/* There is nothing of that name, or a symbolic link to nothing. */
static int look_missing(const char *option, const char *file, struct xiw_out *out)
{
	char shown[256];
	struct stat st;

	if (errno != ENOENT)
		return failed(file, errno);
	if (!lstat(file, &st))
		return xiw_fail(XIW_EXIT_FAILURE,
				"%s: %s is a symbolic link to what does not exist: remove it, "
				"or make its file first",
				option, xiw_printable(file, shown, sizeof(shown)));
	look_plain(file, out);
	return 0;
}

static int look_there(const char *option, const char *file, const struct stat *st,
		      struct xiw_out *out)
{
	char real[PATH_MAX], shown[256];
	struct stat std;

	if (S_ISDIR(st->st_mode))
		return xiw_fail(XIW_EXIT_FAILURE, "%s: %s is a directory: name a file in it",
				option, xiw_printable(file, shown, sizeof(shown)));
	out->is_stdout = !fstat(STDOUT_FILENO, &std) && std.st_dev == st->st_dev &&
			 std.st_ino == st->st_ino;
	out->direct = out->is_stdout || !S_ISREG(st->st_mode);
	if (out->direct) {
		snprintf(out->path, sizeof(out->path), "%s", file);
		snprintf(out->where, sizeof(out->where), "%s", file);
		return 0;
	}
	if (!realpath(file, real))
		return failed(file, errno);
	out->mode = st->st_mode & 0777;
	snprintf(out->path, sizeof(out->path), "%s", real);
	directory_of(real, out->where);
	return 0;
}

/*
 * Has another user put this where everybody can, as in /tmp? It could be a trap: it is replaced, and neither written to
 * nor followed.
 */
static bool planted(const char *file)
{
	struct stat st, parent;
	char dir[4096];

	directory_of(file, dir);
	return !lstat(file, &st) && !S_ISDIR(st.st_mode) && !stat(dir, &parent) &&
	       parent.st_mode & S_ISVTX && parent.st_mode & (S_IWGRP | S_IWOTH) &&
	       st.st_uid != geteuid() && st.st_uid != parent.st_uid && st.st_uid;
}

int xiw_out_look(const char *option, const char *file, struct xiw_out *out)
{
	struct stat st;

	*out = (struct xiw_out){};
	if (strlen(file) >= sizeof(out->path))
		return xiw_fail(XIW_EXIT_FAILURE, "%s: the name is too long", option);
	if (planted(file)) {
		look_plain(file, out);
		return 0;
	}
	return stat(file, &st) ? look_missing(option, file, out)
			       : look_there(option, file, &st, out);
}

/* A signal ends what may wait for ever, such as a pipe that nobody reads. */
static int write_all(int fd, const uint8_t *buf, uint64_t len)
{
	uint64_t done = 0;

	while (done < len) {
		ssize_t n = write(fd, buf + done, len - done);

		if (n > 0)
			done += n;
		else if (errno != EINTR || xiw_stop_signal)
			return -errno;
	}
	return 0;
}

static int write_direct(const struct xiw_out *out, const uint8_t *buf, uint64_t len)
{
	int fd, err;

	fflush(stdout);
	fd = out->is_stdout ? dup(STDOUT_FILENO) : open(out->path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = write_all(fd, buf, len);
	if (close(fd) && !err)
		err = -errno;
	return err;
}

/* Under another name until it is complete. */
static int replace(const struct xiw_out *out, const uint8_t *buf, uint64_t len)
{
	char temp[sizeof(out->path) + 32];
	int fd, err;

	snprintf(temp, sizeof(temp), "%s.%d.part", out->path, getpid());
	fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, out->mode ? out->mode : 0666);
	if (fd < 0)
		return -errno;
	err = write_all(fd, buf, len);
	if (!err && out->mode && fchmod(fd, out->mode))
		err = -errno;
	if (close(fd) && !err)
		err = -errno;
	if (!err && rename(temp, out->path))
		err = -errno;
	if (err)
		unlink(temp);
	return err;
}

int xiw_out_write(const struct xiw_out *out, const uint8_t *buf, uint64_t len)
{
	int err = out->direct ? write_direct(out, buf, len) : replace(out, buf, len);

	return err ? failed(out->path, -err) : 0;
}
