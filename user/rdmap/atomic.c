/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "rdmap/atomic.h"

#include "rdmap/reads.h"

enum xiw_rdmap_error xiw_rdmap_atomic_check(const struct xiw_rdmap_stream *s,
					    const struct xiw_rdmap_atomic *a, uint64_t **word)
{
	const struct xiw_ddp_region *r;
	enum xiw_rdmap_error err;
	uint8_t *ptr;

	/* Section 5.2.1 rule 4. 1 is reserved: a Swap is a CmpSwap that compares nothing. */
	if (a->code != XIW_RDMAP_ATOMIC_FETCH_ADD && a->code != XIW_RDMAP_ATOMIC_CMP_SWAP)
		return XIW_RDMAP_OPCODE;
	err = xiw_rdmap_check_region(s, a->stag, a->to, XIW_RDMAP_WORD_LEN, XIW_DDP_REMOTE_ATOMIC,
				     &r);
	if (err)
		return err;
	/* Section 8.2. The address counts, not the Tagged Offset. */
	ptr = r->ptr + (a->to - r->base);
	if ((uintptr_t)ptr % XIW_RDMAP_WORD_LEN)
		return XIW_RDMAP_STREAM;
	*word = (uint64_t *)(void *)ptr;
	return XIW_RDMAP_OK;
}

/* Section 5.1.1: a bit of the mask is the highest one of a field, out of which nothing is carried. */
static uint64_t add(uint64_t a, uint64_t b, uint64_t mask)
{
	return ((a & ~mask) + (b & ~mask)) ^ ((a ^ b) & mask);
}

/* What the word becomes. False: it stays as it is. */
static bool next_value(const struct xiw_rdmap_atomic *a, uint64_t was, uint64_t *is)
{
	const struct xiw_rdma_atomic *o = &a->operands;

	if (a->code == XIW_RDMAP_ATOMIC_FETCH_ADD) {
		*is = add(was, o->value, o->mask);
		return true;
	}
	*is = (was & ~o->mask) | (o->value & o->mask);
	return !((o->compare ^ was) & o->compare_mask);
}

uint64_t xiw_rdmap_atomic_run(const struct xiw_rdmap_atomic *a, uint64_t *word)
{
	uint64_t was = __atomic_load_n(word, __ATOMIC_SEQ_CST), is;

	while (next_value(a, was, &is) &&
	       !__atomic_compare_exchange_n(word, &was, is, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST))
		;
	return was;
}
