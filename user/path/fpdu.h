/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_PATH_FPDU_H
#define XIW_PATH_FPDU_H

#include "core/engine.h"
#include "mpa/fpdu.h"

/* How an FPDU came, for xiw_fpdu_accept(). */
enum xiw_fpdu_how {
	XIW_FPDU_KERNEL = 0,	  /* from the socket */
	XIW_FPDU_DIRECT = 1 << 0, /* from a frame */
	/* Its length is confirmed: it ends where its segment ends, or the FPDU in front of it was as long. */
	XIW_FPDU_BOUNDED = 1 << 1,
	XIW_FPDU_PLACED = 1 << 2, /* its CRC was verified and it was placed early */
};

/* Notes the header of the segment that ended the stream, for the report (RFC 5041 section 7.2). */
void xiw_conn_quote(struct xiw_conn *c, const struct xiw_header *h);

/*
 * Places an FPDU early, without delivering it (RFC 5044 section 6, RFC 5041 section 5.3). Nothing else changes. The
 * last one of a message is left for its turn, so that nobody sees the message's end before the rest of it.
 * Returns 1 if it was placed, 0 if not, -EBADMSG for a wrong CRC, -EACCES if its STag, bounds or rights are wrong.
 */
int xiw_fpdu_early(struct xiw_conn *c, const struct xiw_fpdu *f, const struct xiw_vec *v,
		   unsigned int n);

/* Queues the completion of a message for the application, with these of enum xiw_completion_flags. */
void xiw_deliver(struct xiw_conn *c, const struct xiw_ddp_msg *m, uint8_t flags);

/*
 * Places an FPDU and delivers its message if that is complete; both paths call it. Returns 0, -EBADMSG for a
 * wrong CRC, -ENOBUFS if it is to be presented again when a buffer is posted (path/hold.h), or -EPROTO if the stream
 * has failed, which has been reported by then.
 */
int xiw_fpdu_accept(struct xiw_conn *c, const struct xiw_fpdu *f, const struct xiw_vec *v,
		    unsigned int n, unsigned int how);

/*
 * The same in a straight line, for @len octets that should be one FPDU without Markers: the next of a Tagged message,
 * and not its last. They are a segment, or as many as the FPDU in front of them had. Returns true if it was accepted.
 * If not, whatever the cause, nothing has changed but octets where the next segment goes anyway, and xiw_fpdu_accept()
 * decides.
 */
bool xiw_fpdu_accept_expected(struct xiw_conn *c, const uint8_t *fpdu, uint32_t len,
			      unsigned int how);

/*
 * The same in two steps, and in pieces, the first of which has at least XIW_FPDU_EXPECTED_HEAD octets. First, where the
 * payload goes; NULL: the FPDU is not expected.
 */
#define XIW_FPDU_EXPECTED_HEAD (XIW_MPA_LEN_SIZE + XIW_DDP_TAGGED_LEN)
uint8_t *xiw_fpdu_expected(struct xiw_conn *c, const uint8_t *fpdu, uint32_t len);
bool xiw_fpdu_expected_place(struct xiw_conn *c, const struct xiw_vec *v, unsigned int n,
			     uint32_t len, uint8_t *dst, unsigned int how);

/*
 * The parts of these two, for who knows what xiw_fpdu_expected() has found for the FPDU before: whether the ULP agrees,
 * and the effect of @fpdus that were placed and verified, each of @len octets with so much payload.
 */
bool xiw_fpdu_ulp_agrees(struct xiw_conn *c, const uint8_t *header, uint32_t payload, uint8_t *dst);
void xiw_fpdu_expected_accepted(struct xiw_conn *c, uint32_t fpdus, uint32_t len, uint32_t payload,
				unsigned int how);

#endif
