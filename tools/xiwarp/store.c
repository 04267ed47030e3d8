// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <xiwarp/region.h>

#define TEMP_BEFORE ".xiwarp-"
#define TEMP_AFTER ".part"
#define TEMP_HEX 16

static bool temp_name(const char *name)
{
	const size_t before = strlen(TEMP_BEFORE);

	return !strncmp(name, TEMP_BEFORE, before) &&
	       strspn(name + before, "0123456789abcdef") == TEMP_HEX &&
	       !strcmp(name + before + TEMP_HEX, TEMP_AFTER);
}

/*
 * Removes what a killed process has left under a temporary name. A process that still writes such a file has it locked
 * (make_named()).
 */
static void sweep(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), file;
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	struct stat st;

	if (!d && fd >= 0)
		close(fd);
	while (d && (entry = readdir(d))) {
		if (!temp_name(entry->d_name))
			continue;
		file = openat(dir, entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (file < 0)
			continue;
		if (!fstat(file, &st) && S_ISREG(st.st_mode) && !flock(file, LOCK_EX | LOCK_NB))
			unlinkat(dir, entry->d_name, 0);
		close(file);
	}
	if (d)
		closedir(d);
}

/* The process's umask. It is read once: that takes setting it, which is for all threads. */
static mode_t mask;

int xiw_store_dir(const char *path, bool create)
{
	int fd;

	mask = umask(0);
	umask(mask);
	if (create && mkdir(path, 0777) && errno != EEXIST)
		return -errno;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (faccessat(fd, ".", W_OK | X_OK, AT_EACCESS)) {
		int err = -errno;

		close(fd);
		return err;
	}
	sweep(fd);
	return fd;
}

#define RINGS_FULL (-1) /* no errno: nothing was asked of the kernel */

static enum xiw_xfer_status status_of(int err)
{
	switch (err) {
	case RINGS_FULL:
		return XIW_XFER_NO_MEMORY;
	case ENOSPC:
	case EDQUOT:
		return XIW_XFER_NO_SPACE;
	case EFBIG:
	case EINVAL:
		return XIW_XFER_TOO_LARGE;
	case EEXIST:
		return XIW_XFER_EXISTS;
	case ENAMETOOLONG:
		return XIW_XFER_BAD_NAME;
	default:
		return XIW_XFER_FAILED;
	}
}

/*
 * Is there room for so many octets? Asked once for the whole file, before any of it is sent, without reserving it: a
 * peer that only offers must not take the room of others. So of several files at a time, the last may still find none.
 */
static int has_room(int fd, uint64_t len, uint64_t keep_free)
{
	struct statvfs vfs;

	if (fstatvfs(fd, &vfs))
		return errno;
	return (uint64_t)vfs.f_bavail * vfs.f_frsize < len + keep_free ? ENOSPC : 0;
}

/*
 * Reserves blocks before octets are granted, so that no peer sends what has no room. A file system that cannot reserve
 * blocks is asked for its free space instead.
 */
static int reserve(int fd, uint64_t at, uint64_t len, uint64_t keep_free)
{
	int err = keep_free ? has_room(fd, len, keep_free) : 0;

	if (err || !fallocate(fd, 0, (off_t)at, (off_t)len))
		return err;
	return errno == EOPNOTSUPP ? has_room(fd, len, 0) : errno;
}

static int random_name(struct xiw_store *s)
{
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return errno;
	snprintf(s->temp, sizeof(s->temp), TEMP_BEFORE "%0*llx" TEMP_AFTER, TEMP_HEX,
		 (unsigned long long)random);
	return 0;
}

static int make_named(struct xiw_store *s)
{
	struct stat st;
	int err = 0;

	for (int i = 0; i < 100; i++) {
		err = random_name(s);
		if (err)
			break;
		s->fd = openat(s->dir, s->temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			       0600);
		err = s->fd < 0 ? errno : 0;
		if (err == EEXIST)
			continue;
		if (err)
			break;
		/* Before the lock, another process's sweep() may have removed it. */
		if (!flock(s->fd, LOCK_EX | LOCK_NB) && !fstat(s->fd, &st) && st.st_nlink)
			return 0;
		close(s->fd);
		s->fd = -1;
		unlinkat(s->dir, s->temp, 0);
	}
	s->temp[0] = '\0';
	return err ? err : EAGAIN;
}

/* A file without a name is best, because nothing is left of it after a SIGKILL; giving it a name later takes /proc. */
static int make_temp(struct xiw_store *s)
{
	if (!access("/proc/self/fd", X_OK)) {
		s->fd = openat(s->dir, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
		if (s->fd >= 0)
			return 0;
		if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT && errno != EINVAL)
			return errno;
	}
	return make_named(s);
}

/* The memory of a ring for so many octets, in whole pages as xiw_memory_alloc() takes them. */
static uint64_t room_for(uint64_t size, uint64_t most)
{
	const uint64_t page = 4096;

	return size < most ? (size + page - 1) / page * page : most;
}

/* Takes a ring from the memory for all of them. False: too little is left for this peer. */
static bool take_room(struct xiw_store *s, const struct xiw_store_limits *limits)
{
	const uint64_t full = room_for(s->size, XIW_STORE_RING);
	const uint64_t least = room_for(s->size, XIW_STORE_RING_LEAST);

	/* No more than the connection itself: a file like this is always taken. */
	if (s->size <= XIW_STORE_SMALL) {
		s->room = s->size;
		return true;
	}
	s->memory = limits->memory;
	if (xiw_quota_take(s->memory, &s->holding, limits->peer, full, true))
		s->room = full;
	else if (xiw_quota_take(s->memory, &s->holding, limits->peer, least, false))
		s->room = least;
	return s->room;
}

static int make_ring(struct xiw_store *s, const struct xiw_store_limits *limits)
{
	void *ring;
	int err;

	if (!take_room(s, limits))
		return RINGS_FULL;
	err = xiw_memory_alloc(s->room, 0, &ring);
	if (!err)
		s->ring = ring;
	return -err;
}

static void free_ring(struct xiw_store *s)
{
	xiw_memory_free(s->ring, s->room);
	if (s->memory)
		xiw_quota_give(s->memory, &s->holding);
}

static int fill_in(struct xiw_store *s, const struct xiw_store_limits *limits,
		   const struct xiw_xfer *offer)
{
	int err = s->size ? has_room(s->dir, s->size, limits->keep_free) : 0;

	if (!err)
		err = make_temp(s);
	if (err)
		return err;
	if (fchmod(s->fd, offer->mode & 0777 & ~mask))
		return errno;
	if (s->size) {
		if (ftruncate(s->fd, (off_t)s->size))
			return errno;
		err = make_ring(s, limits);
		if (err)
			return err;
	}
	return xiw_digest_begin(&s->digest, offer->kind, offer->key) ? 0 : EIO;
}

enum xiw_xfer_status xiw_store_begin(struct xiw_store *s, int dir, bool force,
				     const struct xiw_store_limits *limits,
				     const struct xiw_xfer *offer)
{
	enum xiw_xfer_status status;
	int err;

	memset(s, 0, sizeof(*s));
	s->dir = dir;
	s->force = force;
	s->fd = -1;
	s->size = offer->size;
	if (!xiw_xfer_name_ok(offer->name))
		return XIW_XFER_BAD_NAME;
	memcpy(s->name, offer->name, sizeof(s->name));
	if (s->size > INT64_MAX || s->size > SIZE_MAX / 2)
		return XIW_XFER_TOO_LARGE;
	/* Refused early, to save the transfer; the commit decides. */
	if (!force && !faccessat(dir, s->name, F_OK, AT_SYMLINK_NOFOLLOW))
		return XIW_XFER_EXISTS;
	err = fill_in(s, limits, offer);
	if (!err)
		return XIW_XFER_OK;
	status = status_of(err);
	xiw_store_end(s);
	s->err = err == RINGS_FULL ? 0 : err;
	return status;
}

/* The engine's thread may look at `err` meanwhile, so it is written on failure alone. */
static enum xiw_xfer_status failed(struct xiw_store *s, int err)
{
	s->err = err;
	return status_of(err);
}

enum xiw_xfer_status xiw_store_extend(struct xiw_store *s, uint64_t len, uint64_t keep_free)
{
	const int err = reserve(s->fd, s->allocated, len, keep_free);

	if (err)
		return failed(s, err);
	s->allocated += len;
	return XIW_XFER_OK;
}

static int write_all(const struct xiw_store *s, const uint8_t *p, uint64_t len)
{
	uint64_t done = 0;

	while (done < len) {
		ssize_t n = pwrite(s->fd, p + done, len - done, (off_t)(s->written + done));

		if (n > 0)
			done += (uint64_t)n;
		else if (!n || errno != EINTR)
			return n ? errno : EIO;
	}
	return 0;
}

enum xiw_xfer_status xiw_store_write(struct xiw_store *s, uint64_t len)
{
	const uint64_t to_end = s->room - s->written % s->room;
	const uint8_t *p = xiw_store_place(s, s->written);
	int err;

	if (len > to_end)
		len = to_end;
	if (!xiw_digest_add(&s->digest, p, len))
		return XIW_XFER_FAILED;
	err = write_all(s, p, len);
	if (err)
		return failed(s, err);
	s->written += len;
	return XIW_XFER_OK;
}

/* link(2) never replaces a file. */
static int give_name(struct xiw_store *s, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", s->fd);
	return linkat(AT_FDCWD, path, s->dir, name, AT_SYMLINK_FOLLOW) ? errno : 0;
}

static int take_name(struct xiw_store *s)
{
	int err = 0;

	if (!s->temp[0]) {
		err = give_name(s, s->name);
		if (err != EEXIST || !s->force)
			return err;
		err = random_name(s);
		if (!err)
			err = give_name(s, s->temp);
		if (err) {
			s->temp[0] = '\0';
			return err;
		}
	}
	if (s->force)
		return renameat(s->dir, s->temp, s->dir, s->name) ? errno : 0;
	if (!renameat2(s->dir, s->temp, s->dir, s->name, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return errno;
	/* The file system has no RENAME_NOREPLACE. */
	if (linkat(s->dir, s->temp, s->dir, s->name, 0))
		return errno;
	unlinkat(s->dir, s->temp, 0);
	return 0;
}

enum xiw_xfer_status xiw_store_commit(struct xiw_store *s)
{
	s->err = take_name(s);
	if (s->err)
		return status_of(s->err);
	s->temp[0] = '\0';
	return XIW_XFER_OK;
}

void xiw_store_end(struct xiw_store *s)
{
	free_ring(s);
	if (s->fd >= 0)
		close(s->fd);
	if (s->temp[0])
		unlinkat(s->dir, s->temp, 0);
	xiw_digest_end(&s->digest);
	memset(s, 0, sizeof(*s));
	s->fd = -1;
}
