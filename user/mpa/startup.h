/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* MPA Request and Reply Frames: RFC 5044 section 7.1, and RFC 6581 for Rev 2. */
#ifndef XIW_MPA_STARTUP_H
#define XIW_MPA_STARTUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpa/wire.h"

/* RFC 6581 section 9: the meaning of the first 4 octets of Private Data if S is set. */
struct xiw_mpa_enhanced {
	bool peer_to_peer; /* A: an RTR indication is wanted */
	bool rtr_send;	   /* B */
	bool rtr_write;	   /* C */
	bool rtr_read;	   /* D */
	uint16_t ird;	   /* 14 bits */
	uint16_t ord;	   /* 14 bits */
};

struct xiw_mpa_frame {
	bool reply;
	bool markers;	   /* M: its sender requires Markers in what it receives */
	bool crc;	   /* C */
	bool reject;	   /* R: in a Reply only; false in every decoded Request */
	bool has_enhanced; /* S: in Rev 2 only */
	uint8_t rev;
	uint16_t pd_len;   /* the ULP's Private Data, without the enhanced data */
	const uint8_t *pd; /* decoded: within the buffer that was decoded */
	struct xiw_mpa_enhanced enhanced;
};

enum xiw_mpa_start {
	XIW_MPA_START_OK,
	XIW_MPA_START_MORE,
	/* Each of these is error code 4, and the TCP connection must be closed (section 8). */
	XIW_MPA_START_BAD_KEY,	     /* not MPA */
	XIW_MPA_START_WRONG_ROLE,    /* a Request for a Reply or the reverse (7.1.2 rule 8) */
	XIW_MPA_START_BAD_REV,	     /* neither 1 nor 2 */
	XIW_MPA_START_BAD_PD_LENGTH, /* above 512, or no room for the enhanced data of S */
};

/*
 * Writes the frame. Returns its length or
 * -EINVAL: Rev neither 1 nor 2; R in a Request; enhanced data in Rev 1; IRD or ORD above 14 bits
 * -EMSGSIZE: more than 512 octets of Private Data, enhanced data included
 * -ENOSPC: @size is too small
 */
int xiw_mpa_frame_encode(const struct xiw_mpa_frame *frame, uint8_t *out, size_t size);

/*
 * Reads the frame at the start of the peer's stream, of which @len octets have arrived. A wrong frame is found with the
 * first wrong octet. For OK and MORE, *@need is the length of the whole frame, or of its fixed part while the length is
 * not known. A caller that never reads more than *@need leaves the socket exactly in front of the first FPDU. @frame is
 * set for OK. Reserved bits are ignored (7.1.1), and so are R in a Request, and S in Rev 1, where it is a reserved bit.
 */
enum xiw_mpa_start xiw_mpa_frame_decode(const uint8_t *buf, size_t len, bool expect_reply,
					struct xiw_mpa_frame *frame, size_t *need);

/* The 4 octets alone. IRD and ORD are cut to 14 bits. */
void xiw_mpa_enhanced_encode(const struct xiw_mpa_enhanced *e, uint8_t out[4]);
void xiw_mpa_enhanced_decode(struct xiw_mpa_enhanced *e, const uint8_t in[4]);

#endif
