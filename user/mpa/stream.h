/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * MPA framing of a stream that arrives in arbitrary pieces, as from a socket. Only the octets of an unfinished FPDU are
 * kept, in a staging buffer; all others are presented where they lie.
 */
#ifndef XIW_MPA_STREAM_H
#define XIW_MPA_STREAM_H

#include "mpa/fpdu.h"

struct xiw_mpa_stream {
	struct xiw_mpa_rx rx; /* the phase is that of the first octet not presented yet */
	uint8_t *stage;
	uint32_t staged; /* octets in the staging buffer */
	uint32_t room;	 /* its size: never above XIW_MPA_FPDU_MAX */
	uint32_t need;	 /* length of the FPDU that is staged, 0 if not known */
	uint32_t used;	 /* octets that the last feed took from its piece */
	int error;	 /* the error that ended the stream, which nothing follows (section 8) */
	/*
	 * Allocates the staging buffer as realloc() does, and frees it if asked for 0 octets. NULL: realloc() is used.
	 * Set after xiw_mpa_stream_init().
	 */
	void *(*resize)(void *ctx, void *p, size_t from, size_t to);
	void *ctx;
};

/*
 * Takes one FPDU, which is whole and whose Markers are right, in pieces that stay valid until it returns. It checks the
 * CRC itself (xiw_mpa_verify() or xiw_mpa_place_verify()), and returns -XIW_MPA_ERR_CRC for a wrong one. 0 goes on, a
 * negative value ends the stream, a positive value pauses it. XIW_MPA_LATER pauses it in front of the FPDU, which is
 * presented again when the same octets, and perhaps more, are fed again.
 */
#define XIW_MPA_LATER 2
typedef int (*xiw_mpa_fpdu_fn)(void *ctx, const struct xiw_fpdu *f, const struct xiw_vec *v,
			       unsigned int n);

void xiw_mpa_stream_init(struct xiw_mpa_stream *s, const struct xiw_mpa_rx *rx);
void xiw_mpa_stream_free(struct xiw_mpa_stream *s);

/*
 * Presents every FPDU that @piece completes, and keeps the rest of it.
 *
 * 0: all of the piece is used.
 * > 0: the callback paused the stream. s->used octets of the piece are used, up to the end of
 *	the FPDU that the callback was given, or up to its beginning with XIW_MPA_LATER; the caller feeds the
 *	remainder when it goes on.
 * < 0: -XIW_MPA_ERR_CRC or -XIW_MPA_ERR_MARKER, or what the callback returned: the stream is
 *	at its end, and every later feed returns the same.
 *	-ENOMEM: the rest of the piece could not be kept. As with > 0, s->used says what was
 *	used, and the remainder may be fed again.
 *	-EMSGSIZE: a piece of 2^31 octets or more; nothing is used.
 */
int xiw_mpa_stream_feed(struct xiw_mpa_stream *s, const void *piece, size_t len, xiw_mpa_fpdu_fn cb,
			void *ctx);

/* Octets of an unfinished FPDU. 0: the stream stands exactly between two FPDUs. */
static inline uint32_t xiw_mpa_stream_pending(const struct xiw_mpa_stream *s)
{
	return s->staged;
}

#endif
