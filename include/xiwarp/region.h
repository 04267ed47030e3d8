/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * xiwarp/region.h - memory in which peers may place tagged messages (RFC 5041 section 4.2, RFC 5042).
 *
 * The memory belongs to the application. It must stay mapped until xiw_region_free() or
 * xiw_engine_destroy() has returned. While a region is valid, a peer that knows its STag may overwrite
 * it at any time: rely on the content only when the ULP says that it is final, and if the peer is not
 * trusted, invalidate the STag first.
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
	/* Only this connection may use and invalidate the STag; NULL: any of the engine. */
	struct xiw_conn *conn;
	const uint32_t *stag; /* the STag to use; NULL: one is chosen */
	/* Protection Domain: only its connections may use the STag (RFC 5041 section 8.2). */
	uint32_t pd;
	unsigned int access; /* enum xiw_access; 0: XIW_ACCESS_WRITE */
};

enum xiw_access {
	XIW_ACCESS_NONE = 1 << 0,   /* none until xiw_region_set_access() gives rights */
	XIW_ACCESS_WRITE = 1 << 1,  /* tagged messages may be placed here */
	XIW_ACCESS_READ = 1 << 2,   /* RDMA Reads may read from here */
	XIW_ACCESS_ATOMIC = 1 << 3, /* atomic operations (RFC 7306) may change it */
	/*
	 * The answers to RDMA Reads of ours may be placed here, and nothing that the peer sends of its own
	 * accord. XIW_ACCESS_WRITE includes it.
	 */
	XIW_ACCESS_SINK = 1 << 4,
};

/*
 * Registers [addr, addr + len). opts may be NULL: base TO 0, any connection, STag chosen.
 *
 * A chosen STag is 32 bits from getrandom(2), independent of earlier ones, so that no peer can compute
 * it from others (RFC 5040 section 8.1.1). An STag that the application gives is as hard to guess as
 * the application makes it.
 *
 * -EINVAL: opts, addr NULL, a connection of another engine, len 0, or base_to + len is 2^64 or more;
 * -EEXIST: the STag is in use; -ENOMEM; -ENOSPC: 2^24 regions exist; -EFAULT: a part is not mapped, or what may be
 * changed by a right cannot be written, or what may be read cannot be read, as far as the first and the last page show.
 */
XIW_API int xiw_region_register(struct xiw_engine *engine, void *addr, size_t len,
				const struct xiw_region_opts *opts, struct xiw_region **region);

XIW_API uint32_t xiw_region_stag(const struct xiw_region *region);

/*
 * Replaces the rights (RFC 5041 section 8.3.1), at once. -EINVAL: access; -ENOENT: a peer has
 * invalidated the STag, or the engine has been destroyed; -EFAULT: as above.
 */
XIW_API int xiw_region_set_access(struct xiw_region *region, unsigned int access);

/*
 * Once this has returned nothing is placed in the memory or read from it for a peer, even if another
 * region gets the STag. An RDMA Read from the region that is being answered, or into it that is
 * pending, ends its stream. Allowed before and after the connections that use the region are freed,
 * and before and after xiw_engine_destroy(). NULL is fine.
 */
XIW_API void xiw_region_free(struct xiw_region *region);

enum xiw_memory {
	/* All pages are there on return. Otherwise each one costs a page fault when it is first touched. */
	XIW_MEMORY_PRESENT = 1 << 0,
};

/*
 * Allocates len octets of zeros for regions and messages, aligned to a page. At half a huge page or more (a huge page
 * has 2 MiB on x86) they are aligned and rounded up to huge pages, and the kernel is asked for such: there are fewer
 * page faults and TLB misses then. It gives them if it has some and /sys/kernel/mm/transparent_hugepage/enabled is
 * not "never"; otherwise the memory is ordinary. flags: enum xiw_memory. From any thread.
 *
 * -EINVAL: len is 0, or a flag is unknown; -ENOMEM: there is not so much memory.
 */
XIW_API int xiw_memory_alloc(size_t len, unsigned int flags, void **memory);

/* Frees memory of xiw_memory_alloc() with the same len. NULL is fine. No region may be left on it. */
XIW_API void xiw_memory_free(void *memory, size_t len);

XIW_END_DECLS

#endif
