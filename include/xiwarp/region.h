/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * xiwarp/region.h - memory that peers may place tagged messages in (RFC 5041 section 4.2, 5042).
 *
 * The memory stays the application's; it must stay mapped until xiw_region_free(), or
 * xiw_engine_destroy(), has returned. While a region is valid a peer that knows its STag may
 * overwrite it at any time: treat its content as settled only when the ULP says so, and invalidate
 * the STag first where the peer is not trusted.
 */
#ifndef XIWARP_REGION_H
#define XIWARP_REGION_H

#include <stddef.h>
#include <stdint.h>

#include <xiwarp/engine.h>
#include <xiwarp/export.h>

XIW_BEGIN_DECLS

struct xiw_region;

struct xiw_region_opts {
	size_t size;	  /* sizeof(struct xiw_region_opts) */
	uint64_t base_to; /* tagged offset of the first octet */
	struct xiw_conn
		*conn; /* NULL: any of the engine's; else only it may use the STag, or end it */
	const uint32_t *stag; /* ask for this STag; NULL: one is chosen */
	uint32_t pd; /* Protection Domain: only connections of it may use the STag (RFC 5041 8.2) */
	unsigned int access; /* enum xiw_access; 0: XIW_ACCESS_WRITE */
};

enum xiw_access {
	XIW_ACCESS_NONE = 1 << 0,  /* nothing yet: xiw_region_set_access() gives rights later */
	XIW_ACCESS_WRITE = 1 << 1, /* tagged messages may be placed here */
	XIW_ACCESS_READ = 1 << 2,  /* RDMA Reads may take from here, and other ULPs' answers */
};

/*
 * Registers [addr, addr + len). opts may be NULL: base TO 0, any connection, STag chosen.
 * -EINVAL: opts, addr NULL, a connection of another engine, len 0, or base_to + len is 2^64 or
 * more; -EEXIST: the STag asked for is in use; -ENOMEM; -ENOSPC: 2^24 regions exist.
 *
 * An STag that is chosen is 32 bits from getrandom(2), whatever was chosen before: no peer can
 * compute it from others (RFC 5040 section 8.1.1). One that is asked for is as hard to guess as the
 * application makes it.
 */
XIW_API int xiw_region_register(struct xiw_engine *engine, void *addr, size_t len,
				const struct xiw_region_opts *opts, struct xiw_region **region);

XIW_API uint32_t xiw_region_stag(const struct xiw_region *region);

/*
 * Gives or revokes rights (RFC 5041 section 8.3.1), at once. -EINVAL: access; -ENOENT: a peer has
 * invalidated it, or its engine has been destroyed.
 */
XIW_API int xiw_region_set_access(struct xiw_region *region, unsigned int access);

/*
 * After this returns nothing is placed there, or read for a peer, any more, whatever region gets
 * its STag: an RDMA Read of it that is being answered, or into it that is being waited for, ends
 * its stream. Before or after the connections that use it, and before or after
 * xiw_engine_destroy(). NULL is fine.
 */
XIW_API void xiw_region_free(struct xiw_region *region);

XIW_END_DECLS

#endif
