/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A file on its way into serve's directory: its octets come into a ring of memory, which is digested and written to the
 * file. That has no name, or a hidden temporary one, until it is verified. Nothing here knows about the network.
 *
 * The file itself is not mapped: to fault in a page of it, and to map it, takes longer than to copy the page.
 */
#ifndef XIW_TOOL_STORE_H
#define XIW_TOOL_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digest.h"
#include "quota.h"
#include "xfer.h"

/* The size of a ring: the least if it would take more than half of what its peer may hold. */
#define XIW_STORE_RING (16u << 20)
#define XIW_STORE_RING_LEAST (4u << 20)
#define XIW_STORE_SMALL (64u << 10) /* a file of this size is not counted there */

/* Within what a file has to stay. */
struct xiw_store_limits {
	struct xiw_quota *memory; /* for all rings of the process */
	const struct sockaddr_storage *peer;
	uint64_t keep_free; /* of the file system */
};

struct xiw_store {
	int dir; /* descriptor, not owned */
	bool force;
	char name[XIW_XFER_NAME_MAX + 1];
	char temp[48]; /* its name until it is committed; empty: it has none */
	int fd;
	uint8_t *ring; /* NULL: empty file */
	uint64_t room; /* of the ring; a power of two, or at least the size of the file */
	struct xiw_holding holding; /* the ring, in the memory for all of them */
	struct xiw_quota *memory;
	uint64_t size;
	/* A worker counts these up while the engine's thread reads them. */
	_Atomic uint64_t allocated, written;
	struct xiw_digest digest;
	_Atomic int err; /* errno of the last failure; 0: only the status is known */
};

/*
 * Opens the directory, makes it first if `create` allows, and removes what killed processes have left in it. Returns a
 * descriptor or negative errno. To be called before there are other threads.
 */
int xiw_store_dir(const char *path, bool create);

/*
 * Makes the temporary file, which has no blocks yet, and the ring. Refuses a file that has no room within the limits.
 */
enum xiw_xfer_status xiw_store_begin(struct xiw_store *s, int dir, bool force,
				     const struct xiw_store_limits *limits,
				     const struct xiw_xfer *offer);
/* Where octet `at` of the file comes. It has room there once all is written that is `room` octets before it. */
static inline uint8_t *xiw_store_place(const struct xiw_store *s, uint64_t at)
{
	return s->ring + at % s->room;
}

/* Allocates the next `len` octets of the file, if that leaves `keep_free` octets of the file system free. */
enum xiw_xfer_status xiw_store_extend(struct xiw_store *s, uint64_t len, uint64_t keep_free);
/* Digests at most `len` octets that are next, which nothing may change any more, and writes them to the file. */
enum xiw_xfer_status xiw_store_write(struct xiw_store *s, uint64_t len);
/* Gives the file its name. */
enum xiw_xfer_status xiw_store_commit(struct xiw_store *s);
/* Frees; a file that was not committed is removed. */
void xiw_store_end(struct xiw_store *s);

#endif
