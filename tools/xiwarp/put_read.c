// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Files are read and digested in a thread of its own, some MiB ahead of what the engine sends. They are read, not
 * mapped: a file that becomes shorter is then an error, and no SIGBUS.
 */
#include "put.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* A file of this size is read in less time than it takes to wake a thread. */
#define SMALL (64u << 10)

/* Returns an errno, or XIW_PUT_SHORTER. */
static int read_all(const struct xiw_put_reader *r, uint8_t *buf, size_t len)
{
	size_t got = 0;

	while (got < len) {
		ssize_t n = pread(r->fd, buf + got, len - got, (off_t)(r->read + got));

		if (!n)
			return XIW_PUT_SHORTER;
		if (n > 0)
			got += (size_t)n;
		else if (errno != EINTR)
			return errno;
	}
	return 0;
}

static bool may_read(const struct xiw_put_reader *r)
{
	return !r->err && r->read < r->size && r->read - r->sent <= XIW_PUT_RING - XIW_PUT_CHUNK;
}

/* Reads a chunk, whose place begins at a multiple of its size. */
static bool step(struct xiw_job *job)
{
	struct xiw_put_reader *r = job->owner;
	uint8_t *chunk = r->ring + r->read % XIW_PUT_RING;
	uint64_t left = r->size - r->read;
	size_t len = left < XIW_PUT_CHUNK ? left : XIW_PUT_CHUNK;
	int err;

	if (!may_read(r))
		return false;
	err = read_all(r, chunk, len);
	if (!err && !xiw_digest_add(&r->digest, chunk, len))
		err = EIO;
	if (err)
		r->err = err;
	else
		r->read += len;
	return may_read(r);
}

bool xiw_put_read_begin(struct xiw_put *p, uint64_t size, const struct xiw_xfer *offer)
{
	struct xiw_put_reader *r = &p->reader;

	r->job = (struct xiw_job){ .step = step, .owner = r };
	r->size = size;
	r->read = r->sent = 0;
	r->err = 0;
	posix_fadvise(r->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	if (!xiw_digest_begin(&r->digest, offer->kind, offer->key))
		return false;
	if (size <= SMALL)
		step(&r->job);
	else
		xiw_worker_add(&p->worker, &r->job);
	return true;
}

void xiw_put_read_on(struct xiw_put *p, uint64_t sent)
{
	p->reader.sent += sent;
	if (p->reader.fd >= 0 && may_read(&p->reader))
		xiw_worker_add(&p->worker, &p->reader.job);
}

void xiw_put_read_end(struct xiw_put *p)
{
	xiw_worker_drop(&p->worker, &p->reader.job);
	xiw_digest_end(&p->reader.digest);
	if (p->reader.fd >= 0)
		close(p->reader.fd);
	p->reader.fd = -1;
}
