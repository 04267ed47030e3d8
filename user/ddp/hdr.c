/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "ddp/hdr.h"

#include <errno.h>
#include <string.h>

int xiw_ddp_hdr_decode(struct xiw_ddp_hdr *h, const uint8_t *buf, uint32_t buf_len,
		       uint32_t ulpdu_len)
{
	uint32_t avail = buf_len < ulpdu_len ? buf_len : ulpdu_len;
	uint8_t control;

	if (!avail)
		return -EBADMSG;
	control = buf[XIW_DDP_OFF_CONTROL];
	h->tagged = control & XIW_DDP_CONTROL_TAGGED;
	h->last = control & XIW_DDP_CONTROL_LAST;
	h->dv = control & XIW_DDP_CONTROL_DV;
	h->len = h->tagged ? XIW_DDP_TAGGED_LEN : XIW_DDP_UNTAGGED_LEN;
	if (avail < h->len)
		return -EBADMSG;

	if (h->tagged) {
		memset(h->rsvdulp, 0, sizeof(h->rsvdulp));
		h->rsvdulp[0] = buf[XIW_DDP_OFF_RSVDULP];
		h->stag = xiw_get_be32(buf + XIW_DDP_OFF_STAG);
		h->to = xiw_get_be64(buf + XIW_DDP_OFF_TO);
		h->qn = h->msn = h->mo = 0;
	} else {
		memcpy(h->rsvdulp, buf + XIW_DDP_OFF_RSVDULP, sizeof(h->rsvdulp));
		h->stag = 0;
		h->to = 0;
		h->qn = xiw_get_be32(buf + XIW_DDP_OFF_QN);
		h->msn = xiw_get_be32(buf + XIW_DDP_OFF_MSN);
		h->mo = xiw_get_be32(buf + XIW_DDP_OFF_MO);
	}
	return 0;
}

uint32_t xiw_ddp_hdr_encode(const struct xiw_ddp_hdr *h, uint8_t buf[XIW_DDP_HDR_MAX])
{
	buf[XIW_DDP_OFF_CONTROL] = (h->tagged ? XIW_DDP_CONTROL_TAGGED : 0) |
				   (h->last ? XIW_DDP_CONTROL_LAST : 0) |
				   (h->dv & XIW_DDP_CONTROL_DV);
	if (h->tagged) {
		buf[XIW_DDP_OFF_RSVDULP] = h->rsvdulp[0];
		xiw_put_be32(buf + XIW_DDP_OFF_STAG, h->stag);
		xiw_put_be64(buf + XIW_DDP_OFF_TO, h->to);
		return XIW_DDP_TAGGED_LEN;
	}
	memcpy(buf + XIW_DDP_OFF_RSVDULP, h->rsvdulp, sizeof(h->rsvdulp));
	xiw_put_be32(buf + XIW_DDP_OFF_QN, h->qn);
	xiw_put_be32(buf + XIW_DDP_OFF_MSN, h->msn);
	xiw_put_be32(buf + XIW_DDP_OFF_MO, h->mo);
	return XIW_DDP_UNTAGGED_LEN;
}
