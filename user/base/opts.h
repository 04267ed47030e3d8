/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Structures that grow: a program may have been built with an older or a newer header than the library. These are the
 * rules of xiwarp/xiwarp.h, in one place. Every option structure of the public headers is read with xiw_opts_take(),
 * and every structure that the library fills in is written with xiw_opts_give().
 *
 * A new member is added behind the last one. XIW_OPTS_WHOLE() then demands `reserved` members where the compiler would
 * pad: what an older program left in padding must not become a new member's value. Reserved members are zero, or the
 * options are refused.
 */
#ifndef XIW_BASE_OPTS_H
#define XIW_BASE_OPTS_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define XIW_END_OF(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))
#define XIW_OPTS_WHOLE(type, last)                                                                 \
	_Static_assert(sizeof(type) == XIW_END_OF(type, last), #type " must not end in padding")

/* A larger `size` was never set by the caller. */
#define XIW_OPTS_SIZE_MAX 4096

static inline bool xiw_all_zero(const void *data, size_t len)
{
	const uint8_t *p = (const uint8_t *)data;

	for (size_t i = 0; i < len; i++)
		if (p[i])
			return false;
	return true;
}

/*
 * Copies a caller's options, whose first member is a size_t with their size, to `own`, which has `size` octets; `first`
 * is the size that they had in the first release. Members that an older caller does not have become zero; if `theirs`
 * is NULL, all do. -EINVAL: the size is of no version, or a newer caller sets members that this library does not know.
 */
static inline int xiw_opts_take(void *own, size_t size, size_t first, const void *theirs)
{
	size_t given = 0;

	memset(own, 0, size);
	if (theirs) {
		memcpy(&given, theirs, sizeof(given));
		if (given < first || given > XIW_OPTS_SIZE_MAX)
			return -EINVAL;
		if (given > size && !xiw_all_zero((const uint8_t *)theirs + size, given - size))
			return -EINVAL;
		memcpy(own, theirs, given < size ? given : size);
	}
	memcpy(own, &size, sizeof(size));
	return 0;
}

/* Fills a caller's structure of `room` octets: copies as much as fits, and puts zeros behind it. */
static inline void xiw_opts_give(void *theirs, size_t room, const void *own, size_t size)
{
	size_t n = room < size ? room : size;

	memcpy(theirs, own, n);
	memset((uint8_t *)theirs + n, 0, room - n);
}

#endif
