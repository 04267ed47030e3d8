// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "mpa/startup.h"

#include <errno.h>
#include <string.h>

static const uint8_t key_request[] = XIW_MPA_KEY_REQUEST;
static const uint8_t key_reply[] = XIW_MPA_KEY_REPLY;

void xiw_mpa_enhanced_encode(const struct xiw_mpa_enhanced *e, uint8_t out[4])
{
	uint16_t ird = e->ird & XIW_MPA_ENH_DEPTH_MASK;
	uint16_t ord = e->ord & XIW_MPA_ENH_DEPTH_MASK;

	if (e->peer_to_peer)
		ird |= XIW_MPA_ENH_A;
	if (e->rtr_send)
		ird |= XIW_MPA_ENH_B;
	if (e->rtr_write)
		ord |= XIW_MPA_ENH_C;
	if (e->rtr_read)
		ord |= XIW_MPA_ENH_D;
	xiw_put_be16(out, ird);
	xiw_put_be16(out + 2, ord);
}

void xiw_mpa_enhanced_decode(struct xiw_mpa_enhanced *e, const uint8_t in[4])
{
	uint16_t ird = xiw_get_be16(in);
	uint16_t ord = xiw_get_be16(in + 2);

	e->peer_to_peer = ird & XIW_MPA_ENH_A;
	e->rtr_send = ird & XIW_MPA_ENH_B;
	e->rtr_write = ord & XIW_MPA_ENH_C;
	e->rtr_read = ord & XIW_MPA_ENH_D;
	e->ird = ird & XIW_MPA_ENH_DEPTH_MASK;
	e->ord = ord & XIW_MPA_ENH_DEPTH_MASK;
}

static bool encodable(const struct xiw_mpa_frame *frame)
{
	if (frame->rev != 1 && frame->rev != 2)
		return false;
	if (frame->reject && !frame->reply)
		return false;
	if (!frame->has_enhanced)
		return true;
	return frame->rev == 2 && frame->enhanced.ird <= XIW_MPA_ENH_DEPTH_MASK &&
	       frame->enhanced.ord <= XIW_MPA_ENH_DEPTH_MASK;
}

static uint8_t flags_of(const struct xiw_mpa_frame *frame)
{
	uint8_t flags = 0;

	if (frame->markers)
		flags |= XIW_MPA_FLAG_M;
	if (frame->crc)
		flags |= XIW_MPA_FLAG_C;
	if (frame->reject)
		flags |= XIW_MPA_FLAG_R;
	if (frame->has_enhanced)
		flags |= XIW_MPA_FLAG_S;
	return flags;
}

int xiw_mpa_frame_encode(const struct xiw_mpa_frame *frame, uint8_t *out, size_t size)
{
	uint32_t enhanced_len = frame->has_enhanced ? XIW_MPA_ENHANCED_SIZE : 0;
	uint32_t pd_length = enhanced_len + frame->pd_len;

	if (!encodable(frame))
		return -EINVAL;
	if (pd_length > XIW_MPA_PD_MAX)
		return -EMSGSIZE;
	if (size < XIW_MPA_FRAME_HDR + pd_length)
		return -ENOSPC;

	memcpy(out, frame->reply ? key_reply : key_request, XIW_MPA_KEY_SIZE);
	out[XIW_MPA_FLAGS_OFF] = flags_of(frame);
	out[XIW_MPA_REV_OFF] = frame->rev;
	xiw_put_be16(out + XIW_MPA_PD_LENGTH_OFF, (uint16_t)pd_length);
	out += XIW_MPA_FRAME_HDR;
	if (frame->has_enhanced)
		xiw_mpa_enhanced_encode(&frame->enhanced, out);
	if (frame->pd_len)
		memcpy(out + enhanced_len, frame->pd, frame->pd_len);
	return (int)(XIW_MPA_FRAME_HDR + pd_length);
}

/* Compares as much of the key as has arrived. */
static enum xiw_mpa_start check_key(const uint8_t *buf, size_t len, bool expect_reply)
{
	size_t n = len < XIW_MPA_KEY_SIZE ? len : XIW_MPA_KEY_SIZE;

	if (!n || !memcmp(buf, expect_reply ? key_reply : key_request, n))
		return XIW_MPA_START_OK;
	if (!memcmp(buf, expect_reply ? key_request : key_reply, n))
		return XIW_MPA_START_WRONG_ROLE;
	return XIW_MPA_START_BAD_KEY;
}

/* Checks the fixed part, as far as it has arrived. *@need becomes the length of the frame once it is known. */
static enum xiw_mpa_start check_header(const uint8_t *buf, size_t len, bool expect_reply,
				       size_t *need)
{
	enum xiw_mpa_start st = check_key(buf, len, expect_reply);
	uint32_t pd_length;

	*need = XIW_MPA_FRAME_HDR;
	if (st != XIW_MPA_START_OK)
		return st;
	if (len > XIW_MPA_REV_OFF && buf[XIW_MPA_REV_OFF] != 1 && buf[XIW_MPA_REV_OFF] != 2)
		return XIW_MPA_START_BAD_REV;
	if (len < XIW_MPA_FRAME_HDR)
		return XIW_MPA_START_MORE;

	pd_length = xiw_get_be16(buf + XIW_MPA_PD_LENGTH_OFF);
	if (pd_length > XIW_MPA_PD_MAX)
		return XIW_MPA_START_BAD_PD_LENGTH;
	if (buf[XIW_MPA_REV_OFF] == 2 && (buf[XIW_MPA_FLAGS_OFF] & XIW_MPA_FLAG_S) &&
	    pd_length < XIW_MPA_ENHANCED_SIZE)
		return XIW_MPA_START_BAD_PD_LENGTH;
	*need += pd_length;
	return len < *need ? XIW_MPA_START_MORE : XIW_MPA_START_OK;
}

enum xiw_mpa_start xiw_mpa_frame_decode(const uint8_t *buf, size_t len, bool expect_reply,
					struct xiw_mpa_frame *frame, size_t *need)
{
	enum xiw_mpa_start st = check_header(buf, len, expect_reply, need);
	uint8_t flags;

	if (st != XIW_MPA_START_OK)
		return st;

	flags = buf[XIW_MPA_FLAGS_OFF];
	*frame = (struct xiw_mpa_frame){
		.reply = expect_reply,
		.markers = flags & XIW_MPA_FLAG_M,
		.crc = flags & XIW_MPA_FLAG_C,
		.reject = expect_reply && (flags & XIW_MPA_FLAG_R),
		.rev = buf[XIW_MPA_REV_OFF],
		.pd_len = (uint16_t)(*need - XIW_MPA_FRAME_HDR),
		.pd = buf + XIW_MPA_FRAME_HDR,
	};
	if (frame->rev == 2 && (flags & XIW_MPA_FLAG_S)) {
		frame->has_enhanced = true;
		xiw_mpa_enhanced_decode(&frame->enhanced, frame->pd);
		frame->pd += XIW_MPA_ENHANCED_SIZE;
		frame->pd_len -= XIW_MPA_ENHANCED_SIZE;
	}
	return XIW_MPA_START_OK;
}
