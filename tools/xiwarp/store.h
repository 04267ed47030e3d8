/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A file on its way into serve's directory: it is mapped, and has no name, or a hidden temporary one, until it is
 * verified. Nothing here knows about the network.
 */
#ifndef XIW_TOOL_STORE_H
#define XIW_TOOL_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digest.h"
#include "xfer.h"

struct xiw_store {
	int dir; /* descriptor, not owned */
	bool force;
	char name[XIW_XFER_NAME_MAX + 1];
	char temp[48]; /* its name until it is committed; empty: it has none */
	int fd;
	uint8_t *map; /* NULL: empty file */
	uint64_t size;
	/* A worker counts these up while the engine's thread reads them. */
	_Atomic uint64_t allocated, digested;
	struct xiw_digest digest;
	int err; /* errno of the last failure; 0: only the status is known */
};

/*
 * Opens the directory, makes it first if `create` allows, and removes what killed processes have left in it. Returns a
 * descriptor or negative errno.
 */
int xiw_store_dir(const char *path, bool create);

/*
 * Makes the temporary file and maps it. It has no blocks yet: nothing may touch the mapping beyond what
 * xiw_store_extend() has allocated.
 */
enum xiw_xfer_status xiw_store_begin(struct xiw_store *s, int dir, bool force,
				     const struct xiw_xfer *offer);
/*
 * Allocates the next `len` octets if that leaves `keep_free` octets of the file system free, and has the kernel make
 * their pages, all at once, so that placing octets there meets no page fault.
 */
enum xiw_xfer_status xiw_store_extend(struct xiw_store *s, uint64_t len, uint64_t keep_free);
/* Digests the next `len` octets, which nothing may change any more. Returns false if that failed. */
bool xiw_store_digest(struct xiw_store *s, uint64_t len);
/* Gives the file its name. */
enum xiw_xfer_status xiw_store_commit(struct xiw_store *s);
/* Frees; a file that was not committed is removed. */
void xiw_store_end(struct xiw_store *s);

#endif
