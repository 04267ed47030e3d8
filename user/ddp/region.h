/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ddp/region.h - the STags of an engine and the Tagged Buffers behind them, RFC 5041 sections 7.1 and 8
 *
 * A table has no lock: its caller makes sure that calls on it, and Placement by the streams that use it, do not
 * overlap.
 */
#ifndef XIW_DDP_REGION_H
#define XIW_DDP_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <xiwarp/error.h>

enum xiw_ddp_access {
	XIW_DDP_REMOTE_WRITE = 1 << 0,
	XIW_DDP_REMOTE_READ = 1 << 1,
	XIW_DDP_REMOTE_ATOMIC = 1 << 2, /* RFC 7306 */
	/*
	 * What the ULP has asked the peer for may be placed (see xiw_ddp_rx_sinks()), but not what the peer sends of
	 * its own accord. XIW_DDP_REMOTE_WRITE includes it.
	 */
	XIW_DDP_SINK = 1 << 3,
};

/* A part of a buffer whose memory is not in one piece. It has at least one octet. */
struct xiw_ddp_piece {
	uint8_t *base;
	size_t len;
};

#define XIW_DDP_MAX_REGIONS (1u << 24)

/* Not bound to one stream: only the protection domain is checked (section 8.2). */
#define XIW_DDP_ANY_STREAM 0

struct xiw_ddp_region {
	uint32_t stag;
	uint32_t pd;
	uint32_t stream; /* the only stream that may use it, or XIW_DDP_ANY_STREAM */
	uint32_t access; /* enum xiw_ddp_access */
	uint64_t base;	 /* TO of the first octet */
	uint64_t len;	 /* base + len does not wrap */
	uint8_t *ptr;	 /* of the first octet, or struct xiw_ddp_piece if npieces */
	uint32_t npieces;
	uint64_t serial; /* number of the registration, as an STag may be used again */
	bool borrowed;	 /* as in the options */
};

struct xiw_ddp_slot {
	struct xiw_ddp_region region;
	uint32_t next_free;
	bool used;
};

struct xiw_ddp_cell {
	uint32_t stag;
	uint32_t slot; /* index + 1; 0: the cell is empty */
};

/* Sets *number to 32 random bits. Returns 0, or a negative errno if it has none. */
typedef int (*xiw_ddp_random)(void *ctx, uint32_t *number);

struct xiw_ddp_table {
	/*
	 * Changes whenever something that was allowed may no longer be. A stream that keeps the outcome of a check
	 * knows by one compare that it still holds. Never 0.
	 */
	uint64_t generation;
	uint64_t serial; /* of the last registration */
	struct xiw_ddp_slot *slots;
	struct xiw_ddp_cell *cells; /* 2 * nslots, a power of two; linear probing */
	uint32_t nslots;
	uint32_t shift; /* shift that makes the number of a cell from a 32-bit hash */
	uint32_t free_head;
	uint32_t free_tail;
	xiw_ddp_random random;
	void *random_ctx;
};

struct xiw_ddp_region_opts {
	void *ptr; /* the octets, or struct xiw_ddp_piece if npieces: the array is not copied */
	uint32_t npieces; /* with XIW_DDP_SINK alone, and `len` is that of all */
	uint64_t len;	  /* not 0 */
	uint64_t base;	  /* TO of the first octet; base + len must not wrap */
	uint32_t pd;
	uint32_t stream; /* or XIW_DDP_ANY_STREAM */
	uint32_t access; /* enum xiw_ddp_access */
	bool borrowed; /* its memory is that of other regions, and it ends with them (ddp/revoke.h) */
	bool fixed;    /* use `stag`, any 32-bit number; else the table chooses */
	uint32_t stag;
};

/*
 * Where chosen STags come from, each independent of the others, so that the STags that a peer knows tell nothing of
 * another one, if the source is good (RFC 5040 section 8.1.1 rule 8, RFC 5042 section 6.1.1). NULL: every caller asks
 * for an STag of its own.
 */
void xiw_ddp_table_init(struct xiw_ddp_table *t, xiw_ddp_random random, void *random_ctx);
void xiw_ddp_table_free(struct xiw_ddp_table *t);

/*
 * The only call that allocates. Returns 0, -EINVAL, -EEXIST (the STag asked for is taken), -ENOSPC (too many regions),
 * -ENOMEM, or the error of @random.
 */
int xiw_ddp_region_register(struct xiw_ddp_table *t, const struct xiw_ddp_region_opts *opts,
			    uint32_t *stag);

/* Once this has returned, no stream places anything there. Returns 0 or -ENOENT. */
int xiw_ddp_region_invalidate(struct xiw_ddp_table *t, uint32_t stag);

/* Grants or revokes rights (section 8.3.1 rule 5). Returns 0, -EINVAL or -ENOENT. */
int xiw_ddp_region_set_access(struct xiw_ddp_table *t, uint32_t stag, uint32_t access);

/* NULL if there is none. Valid until the next registration or invalidation. */
const struct xiw_ddp_region *xiw_ddp_region_lookup(const struct xiw_ddp_table *t, uint32_t stag);

/*
 * The checks of section 7.1 for Tagged segments: may `stream` of `pd` have `access` to the len (not 0) octets from `to`
 * of this STag? If so, sets *region and returns XIW_DDP_OK.
 */
enum xiw_ddp_error xiw_ddp_region_check(const struct xiw_ddp_table *t, uint32_t stag, uint32_t pd,
					uint32_t stream, uint32_t access, uint64_t to, uint64_t len,
					const struct xiw_ddp_region **region);

#endif
