// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Takes the FPDUs of a segment of the direct path that is in order. */
#include "path/take.h"

#include <errno.h>

#include "core/agenda.h"
#include "path/fallback.h"
#include "path/fpdu.h"
#include "path/patience.h"
#include "path/progress.h"

#define CRC_TRIES 8 /* so many bad CRCs at one place are no accident: MPA error 2 */

/* A segment with a wrong CRC counts as lost, and TCP sends it again (RFC 5044 section 8). */
static void bad_crc(struct xiw_conn *c)
{
	c->counts.crc_errors++;
	if (c->handoff.crc_tries && c->handoff.crc_seq == c->tcp.rcv_nxt) {
		if (++c->handoff.crc_tries >= CRC_TRIES)
			xiw_conn_stream_error(c, XIW_MPA_ERR_CRC, 0);
	} else {
		c->handoff.crc_seq = c->tcp.rcv_nxt;
		c->handoff.crc_tries = 1;
	}
	/*
	 * This segment is dropped, because one wrong CRC in the socket ends the stream. After the fall-back, TCP's
	 * retransmission goes to the socket.
	 */
	xiw_progress_refused(c, XIW_REASON_CRC, NULL);
}

/* Where a walk over the FPDUs of a segment ended, and why. */
struct walk {
	uint32_t done;		    /* octets of whole FPDUs that were accepted */
	uint32_t need;		    /* length of the FPDU that is not whole */
	enum xiw_mpa_status status; /* of the last FPDU */
	int err;		    /* result of xiw_fpdu_accept() */
};

/*
 * Walks the FPDUs from the next octet in order, and accepts each. `k` is set if the segment was kept; some of its FPDUs
 * may then be placed already. Such a one begins where one began then: a peer may send what was in front of the segment
 * so that FPDUs end elsewhere, and none of the octets that then make up an FPDU was placed or verified as one.
 */
static struct walk walk(struct xiw_conn *c, const struct xiw_vec *v, unsigned int n, uint32_t len,
			const struct xiw_kept *k)
{
	struct walk w = {};
	struct xiw_fpdu f = {};
	const bool early = k && k->generation == c->engine->regions.generation;
	uint32_t placed = k ? k->placed_from : 0; /* where the next such FPDU begins */

	while (w.done < len) {
		uint32_t seq = c->tcp.rcv_nxt + w.done;
		unsigned int how = XIW_FPDU_DIRECT;

		w.status = xiw_mpa_parse(&c->mpa.rx, v, n, w.done, &f);
		if (w.status != XIW_MPA_OK)
			break;
		if (w.done + f.wire_len == len)
			how |= XIW_FPDU_BOUNDED;
		if (early && seq == placed && !xiw_seq_after(seq + f.wire_len, k->placed_to)) {
			how |= XIW_FPDU_PLACED;
			placed += f.wire_len;
		}
		w.err = xiw_fpdu_accept(c, &f, v, n, how);
		if (w.err)
			break;
		w.done += f.wire_len;
		xiw_mpa_rx_advance(&c->mpa.rx, f.wire_len);
	}
	w.need = f.wire_len;
	if (w.status == XIW_MPA_BAD_MARKER && c->crc && !xiw_mpa_verify(&f, v, n))
		w.err = -EBADMSG; /* the FPDU is damaged: MPA error 3 requires a valid CRC (section 8) */
	return w;
}

/* The next FPDU of the segment is a Send without a buffer. */
static bool no_buffer(struct xiw_conn *c, const struct xiw_segment *s, const struct xiw_tcp_take *t,
		      uint32_t done, const struct xiw_kept *k)
{
	struct xiw_tcp_take rest = *t;

	rest.seq += done;
	rest.off += done;
	rest.len -= done;
	if (xiw_patience_begin(c, s, &rest, k ? k->rxq : c->stretch.rxq))
		return true;
	xiw_fall_back(c, XIW_REASON_NO_BUFFER, s); /* the socket's window can close */
	return false;
}

/* The segment is one FPDU that was expected. */
static bool take_expected(struct xiw_conn *c, const struct xiw_vec *v, unsigned int n, uint32_t len)
{
	uint8_t *dst = NULL;

	if (n && v->len >= XIW_FPDU_EXPECTED_HEAD)
		dst = xiw_fpdu_expected(c, v->base, len);
	return dst && xiw_fpdu_expected_place(c, v, n, len, dst, XIW_FPDU_DIRECT);
}

/* So many octets of the stream were accepted. */
static void taken(struct xiw_conn *c, uint32_t octets)
{
	xiw_count_taken(c, octets);
	xiw_tcp_rx_advance(&c->tcp, octets);
}

bool xiw_take(struct xiw_conn *c, const struct xiw_segment *s, const struct xiw_tcp_take *t,
	      const struct xiw_kept *k)
{
	struct xiw_vec v[XIW_XSK_FRAGS_MAX];
	unsigned int n = xiw_payload(s->packet, s->meta, t->off, t->len, v);
	struct walk w;

	if (!k && take_expected(c, v, n, t->len)) {
		taken(c, t->len);
		return false;
	}
	w = walk(c, v, n, t->len, k);
	if (w.done)
		taken(c, w.done);
	if (w.err == -ENOBUFS)
		return no_buffer(c, s, t, w.done, k);
	if (w.err == -EBADMSG)
		bad_crc(c);
	else if (w.status == XIW_MPA_BAD_MARKER || w.status == XIW_MPA_BAD_LENGTH)
		xiw_conn_stream_error(c, XIW_MPA_ERR_MARKER, 0);
	else if (w.status == XIW_MPA_MORE && !c->rx_dead)
		xiw_fall_back(c, w.need > c->tcp.mss ? XIW_REASON_TOO_LARGE : XIW_REASON_MISALIGNED,
			      s);
	return false;
}
