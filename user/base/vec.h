/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A part of the received stream as an array of pieces: the segments, frames or buffers in which it arrived. Offsets
 * count octets from the start of the first piece. Pieces may be empty.
 */
#ifndef XIW_BASE_VEC_H
#define XIW_BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct xiw_vec {
	const uint8_t *base;
	size_t len;
};

static inline size_t xiw_vec_total(const struct xiw_vec *v, unsigned int n)
{
	size_t total = 0;

	while (n--)
		total += v++->len;
	return total;
}

/* A position in the pieces. */
struct xiw_vec_cur {
	const struct xiw_vec *v;
	unsigned int n;
	size_t off; /* within v[0] */
};

static inline void xiw_vec_skip(struct xiw_vec_cur *cur, size_t len)
{
	cur->off += len;
	while (cur->n && cur->off >= cur->v->len) {
		cur->off -= cur->v->len;
		cur->v++;
		cur->n--;
	}
}

static inline struct xiw_vec_cur xiw_vec_at(const struct xiw_vec *v, unsigned int n, size_t off)
{
	struct xiw_vec_cur cur = { v, n, 0 };

	xiw_vec_skip(&cur, off);
	return cur;
}

/*
 * The octets that lie in one piece from here on, at most @want; moves behind them. Returns their number, which is 0
 * only at the end of the last piece or for a @want of 0.
 */
static inline size_t xiw_vec_run(struct xiw_vec_cur *cur, size_t want, const uint8_t **p)
{
	size_t len;

	if (!cur->n)
		return 0;
	*p = cur->v->base + cur->off;
	len = cur->v->len - cur->off;
	if (len > want)
		len = want;
	xiw_vec_skip(cur, len);
	return len;
}

/* Copies @len octets, or as many as there are, moves behind them, and returns their number. */
static inline size_t xiw_vec_take(struct xiw_vec_cur *cur, void *dst, size_t len)
{
	const uint8_t *p;
	size_t done = 0, run;

	while ((run = xiw_vec_run(cur, len - done, &p))) {
		memcpy((uint8_t *)dst + done, p, run);
		done += run;
	}
	return done;
}

/* Copies @len octets from @off. False, with @dst undefined, if the pieces end before that. */
static inline bool xiw_vec_copy_out(const struct xiw_vec *v, unsigned int n, size_t off, void *dst,
				    size_t len)
{
	struct xiw_vec_cur cur = xiw_vec_at(v, n, off);

	return xiw_vec_take(&cur, dst, len) == len;
}

/* The address of @len (not 0) octets from @off if they lie in one piece; else NULL. */
static inline const uint8_t *xiw_vec_flat(const struct xiw_vec *v, unsigned int n, size_t off,
					  size_t len)
{
	struct xiw_vec_cur cur = xiw_vec_at(v, n, off);
	const uint8_t *p = NULL;

	return xiw_vec_run(&cur, len, &p) == len ? p : NULL;
}

#endif
