// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "netif/bpffs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <xiwarp/load.h>

#define PATH_LEN 512
#define LOCK_TRIES 500 /* for ten seconds */
#define LOCK_PAUSE_NS 20000000

/* This obeys the process's capabilities, while access(2) obeys the user's permissions. */
static bool there(const char *path)
{
	struct stat st;

	return !lstat(path, &st);
}

static pid_t parent_of(pid_t pid)
{
	char path[64], line[512], *at;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, line, sizeof(line) - 1);
	close(fd);
	line[n > 0 ? n : 0] = '\0';
	/* The line is "PID (NAME) STATE PARENT", and NAME may contain brackets. */
	at = strrchr(line, ')');
	return at && strlen(at) > 4 ? (pid_t)atoi(at + 4) : 0;
}

/* The nearest ancestor in another mount namespace; 0: there is none, or this process may not look further. */
static pid_t outside(bool parent_only)
{
	struct stat own, its;
	char path[64];

	if (stat("/proc/self/ns/mnt", &own))
		return 0;
	for (pid_t pid = getppid(); pid > 0; pid = parent_of(pid)) {
		snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
		if (stat(path, &its))
			return 0;
		if (its.st_ino != own.st_ino)
			return pid;
		if (parent_only)
			return 0;
	}
	return 0;
}

/* The longest part of the path that exists. */
static void existing(const char *path, char at[PATH_LEN])
{
	char *slash;

	snprintf(at, PATH_LEN, "%s", path);
	while (!there(at) && (slash = strrchr(at, '/')) && slash > at)
		*slash = '\0';
}

bool xiw_bpffs_at(const char *path)
{
	char at[PATH_LEN];
	struct statfs fs;

	existing(path, at);
	return !statfs(at, &fs) && fs.f_type == BPF_FS_MAGIC;
}

static bool unseen_by(pid_t pid, const char *path)
{
	char at[PATH_LEN], theirs[PATH_LEN + 32];
	struct stat own, its;

	existing(path, at);
	if (!pid || *at != '/' || stat(at, &own))
		return false;
	snprintf(theirs, sizeof(theirs), "/proc/%d/root%s", (int)pid, at);
	if (stat(theirs, &its))
		return errno == ENOENT;
	return own.st_dev != its.st_dev;
}

/* Has it been removed since? */
static bool removed(const char *dir, const struct stat *was)
{
	struct stat now;

	return stat(dir, &now) || now.st_dev != was->st_dev || now.st_ino != was->st_ino;
}

static int lock(const char *dir, int tries)
{
	const struct timespec pause = { .tv_nsec = LOCK_PAUSE_NS };
	struct stat st;

	for (int i = 0; i < tries; i++) {
		int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;

		if (fd < 0)
			return errno == ENOENT ? -ENOENT : XIW_BPFFS_NO_LOCK;
		if (fstat(fd, &st) || st.st_mode & (S_IRWXG | S_IRWXO))
			err = XIW_BPFFS_NO_LOCK;
		else if (flock(fd, LOCK_EX | LOCK_NB))
			err = errno == EWOULDBLOCK || errno == EINTR ? 0 : XIW_BPFFS_NO_LOCK;
		else if (!removed(dir, &st))
			return fd;
		close(fd);
		if (err)
			return err;
		if (i + 1 < tries)
			nanosleep(&pause, NULL);
	}
	return -EBUSY;
}

int xiw_bpffs_lock(const char *dir)
{
	return lock(dir, LOCK_TRIES);
}

int xiw_bpffs_try_lock(const char *dir)
{
	return lock(dir, 1);
}

void xiw_bpffs_unlock(int lock)
{
	if (lock < 0)
		return;
	/* A child that another thread has forked may have the descriptor, too. */
	flock(lock, LOCK_UN);
	close(lock);
}

bool xiw_bpffs_private(const char *path, bool mounted)
{
	return unseen_by(outside(!mounted), path);
}

const char *xiw_bpffs_wrong(const char *dir)
{
	struct stat st;

	if (!strcmp(dir, XIW_PIN_DIR))
		return NULL;
	if (lstat(dir, &st))
		return errno == ENOENT	  ? "does not exist"
		       : errno == EACCES  ? "cannot be looked at without CAP_DAC_OVERRIDE"
		       : errno == ENOTDIR ? "is below what is no directory"
					  : "cannot be looked at";
	if (!S_ISDIR(st.st_mode))
		return "is no directory";
	return xiw_bpffs_at(dir) ? NULL : "is not on a BPF file system";
}

bool xiw_bpffs_hidden(const char *path)
{
	return !xiw_bpffs_at(path) && unseen_by(outside(false), path);
}
