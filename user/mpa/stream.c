// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "mpa/stream.h"

#include <errno.h>
#include <stdlib.h>

#define STAGE_MIN 2048u

void xiw_mpa_stream_init(struct xiw_mpa_stream *s, const struct xiw_mpa_rx *rx)
{
	*s = (struct xiw_mpa_stream){ .rx = *rx };
}

void xiw_mpa_stream_free(struct xiw_mpa_stream *s)
{
	if (s->resize && s->stage)
		s->resize(s->ctx, s->stage, s->room, 0);
	else
		free(s->stage);
	s->stage = NULL;
	s->staged = 0;
	s->room = 0;
}

/*
 * The buffer grows with the octets that have arrived, not with what a ULPDU_Length announces, so that a peer pays for
 * the memory it takes. An unfinished FPDU is shorter than XIW_MPA_FPDU_MAX, which bounds the doubling.
 */
static int stage_append(struct xiw_mpa_stream *s, const uint8_t *p, uint32_t len)
{
	uint32_t total = s->staged + len;

	if (total > s->room) {
		uint32_t room = s->room ? s->room : STAGE_MIN;
		uint8_t *stage;

		while (room < total)
			room *= 2;
		if (room > XIW_MPA_FPDU_MAX)
			room = XIW_MPA_FPDU_MAX;
		stage = s->resize ? s->resize(s->ctx, s->stage, s->room, room)
				  : realloc(s->stage, room);
		if (!stage)
			return -ENOMEM;
		s->stage = stage;
		s->room = room;
	}
	memcpy(s->stage + s->staged, p, len);
	s->staged = total;
	s->used += len;
	return 0;
}

/* Code 3 is for an FPDU whose CRC is right; a wrong CRC explains a wrong Marker (section 8). */
static int framing_error(const struct xiw_mpa_stream *s, enum xiw_mpa_status st,
			 const struct xiw_fpdu *f, const struct xiw_vec *v, unsigned int n)
{
	if (st == XIW_MPA_BAD_MARKER && s->rx.crc && !xiw_mpa_verify(f, v, n))
		return -XIW_MPA_ERR_CRC;
	return -XIW_MPA_ERR_MARKER;
}

/*
 * Presents the FPDU at @off. *@len is the number of octets that it took from the pieces, 0 if it is unfinished or not
 * taken.
 */
static int present(struct xiw_mpa_stream *s, const struct xiw_vec *v, unsigned int n, uint32_t off,
		   xiw_mpa_fpdu_fn cb, void *ctx, uint32_t *len)
{
	struct xiw_fpdu f;
	enum xiw_mpa_status st = xiw_mpa_parse(&s->rx, v, n, off, &f);
	int ret;

	*len = 0;
	if (st == XIW_MPA_MORE) {
		s->need = f.wire_len;
		return 0;
	}
	if (st != XIW_MPA_OK) {
		s->error = framing_error(s, st, &f, v, n);
		return s->error;
	}
	ret = cb(ctx, &f, v, n);
	if (ret == XIW_MPA_LATER)
		return ret;
	xiw_mpa_rx_advance(&s->rx, f.wire_len);
	*len = f.wire_len;
	if (ret < 0)
		s->error = ret;
	return ret;
}

int xiw_mpa_stream_feed(struct xiw_mpa_stream *s, const void *piece, size_t len, xiw_mpa_fpdu_fn cb,
			void *ctx)
{
	uint32_t total = (uint32_t)len, taken;
	struct xiw_vec v[2];
	int ret = 0;

	s->used = 0;
	if (s->error)
		return s->error;
	if (len > INT32_MAX)
		return -EMSGSIZE;
	if (!len)
		return 0;

	v[0] = (struct xiw_vec){ s->stage, s->staged };
	v[1] = (struct xiw_vec){ piece, len };
	if (s->staged) {
		if (s->staged + total < s->need)
			return stage_append(s, piece, total);
		ret = present(s, v, 2, 0, cb, ctx, &taken);
		if (!taken)
			return ret ? ret : stage_append(s, piece, total);
		/* The staged octets were an unfinished FPDU, so the FPDU ends in the piece. */
		s->used = taken - s->staged;
		s->staged = 0;
	}
	while (!ret && s->used < total) {
		ret = present(s, &v[1], 1, s->used, cb, ctx, &taken);
		if (!taken)
			return ret ? ret : stage_append(s, v[1].base + s->used, total - s->used);
		s->used += taken;
	}
	return ret;
}
