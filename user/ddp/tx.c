/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "ddp/tx.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int xiw_ddp_tx_init(struct xiw_ddp_tx *tx, uint32_t nqueues, uint32_t first_msn)
{
	if (!nqueues)
		return -EINVAL;
	tx->next_msn = malloc(nqueues * sizeof(*tx->next_msn));
	if (!tx->next_msn)
		return -ENOMEM;
	tx->nqueues = nqueues;
	for (uint32_t i = 0; i < nqueues; i++)
		tx->next_msn[i] = first_msn ? first_msn : 1; /* section 4.3 */
	return 0;
}

int xiw_ddp_tx_add_queue(struct xiw_ddp_tx *tx, uint32_t first_msn)
{
	uint32_t *next = reallocarray(tx->next_msn, tx->nqueues + 1, sizeof(*next));

	if (!next)
		return -ENOMEM;
	tx->next_msn = next;
	tx->next_msn[tx->nqueues++] = first_msn ? first_msn : 1;
	return 0;
}

void xiw_ddp_tx_free(struct xiw_ddp_tx *tx)
{
	free(tx->next_msn);
	tx->next_msn = NULL;
	tx->nqueues = 0;
}

int xiw_ddp_tx_tagged(struct xiw_ddp_tx_msg *m, uint32_t stag, uint64_t to, uint64_t len,
		      uint8_t rsvdulp)
{
	uint64_t end;

	if (len > XIW_DDP_MSG_MAX)
		return -EMSGSIZE;
	if (__builtin_add_overflow(to, len, &end))
		return -EINVAL;
	*m = (struct xiw_ddp_tx_msg){
		.hdr = {
			.tagged = true,
			.dv = XIW_DDP_VERSION,
			.len = XIW_DDP_TAGGED_LEN,
			.rsvdulp = { rsvdulp },
			.stag = stag,
			.to = to,
		},
		.len = len,
	};
	return 0;
}

int xiw_ddp_tx_untagged(struct xiw_ddp_tx *tx, struct xiw_ddp_tx_msg *m, uint32_t qn, uint64_t len,
			const uint8_t rsvdulp[XIW_DDP_UNTAGGED_RSVDULP_LEN])
{
	if (len > XIW_DDP_MSG_MAX)
		return -EMSGSIZE;
	if (qn >= tx->nqueues)
		return -EINVAL;
	*m = (struct xiw_ddp_tx_msg){
		.hdr = {
			.dv = XIW_DDP_VERSION,
			.len = XIW_DDP_UNTAGGED_LEN,
			.qn = qn,
			.msn = tx->next_msn[qn]++, /* 0 follows 0xFFFFFFFF */
		},
		.len = len,
	};
	memcpy(m->hdr.rsvdulp, rsvdulp, sizeof(m->hdr.rsvdulp));
	return 0;
}

int xiw_ddp_tx_next(struct xiw_ddp_tx_msg *m, uint32_t mulpdu, struct xiw_ddp_seg *seg)
{
	uint32_t left = m->len - m->off;
	uint32_t room;

	if (m->done)
		return 0;
	if (mulpdu < m->hdr.len)
		return -EMSGSIZE;
	room = mulpdu - m->hdr.len;
	if (left && !room)
		return -EMSGSIZE;

	seg->hdr = m->hdr;
	seg->off = m->off;
	seg->len = left < room ? left : room;
	seg->hdr.last = seg->len == left;
	if (m->hdr.tagged)
		seg->hdr.to += m->off;
	else
		seg->hdr.mo = m->off;
	m->off += seg->len;
	m->done = seg->hdr.last;
	return 1;
}
