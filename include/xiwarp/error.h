/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * xiwarp/error.h - the error numbers of the protocols. Functions return negative errno; these numbers
 * say why a stream ended.
 */
#ifndef XIWARP_ERROR_H
#define XIWARP_ERROR_H

#include <xiwarp/export.h>

XIW_BEGIN_DECLS

/* RFC 5044 section 8; from 5 on RFC 6581 section 8. 0 is no error. */
enum xiw_mpa_error {
	XIW_MPA_ERR_CLOSED = 1,	 /* TCP connection closed, terminated, or lost */
	XIW_MPA_ERR_CRC = 2,	 /* received CRC does not match the calculated one */
	XIW_MPA_ERR_MARKER = 3,	 /* Marker and ULPDU Length disagree on the FPDU's start */
	XIW_MPA_ERR_STARTUP = 4, /* invalid Request or Reply Frame */
	XIW_MPA_ERR_LOCAL = 5,
	XIW_MPA_ERR_IRD = 6,
	XIW_MPA_ERR_RTR = 7,
};

/*
 * RFC 5041 section 7.2: Error Type << 8 | Error Code. Local Catastrophic has type 0 and code 0; bit 16,
 * which is outside both fields, tells it from no error.
 */
enum xiw_ddp_error {
	XIW_DDP_OK = 0,
	XIW_DDP_LOCAL_CATASTROPHIC = 0x10000,

	XIW_DDP_TAGGED_STAG = 0x100,	   /* invalid STag */
	XIW_DDP_TAGGED_BOUNDS = 0x101,	   /* base or bounds violation */
	XIW_DDP_TAGGED_NOT_STREAM = 0x102, /* STag not associated with the DDP Stream */
	XIW_DDP_TAGGED_TO_WRAP = 0x103,
	XIW_DDP_TAGGED_VERSION = 0x104,

	XIW_DDP_UNTAGGED_QN = 0x201,
	XIW_DDP_UNTAGGED_NO_BUFFER = 0x202, /* invalid MSN: no buffer available */
	XIW_DDP_UNTAGGED_MSN_RANGE = 0x203, /* invalid MSN: range is not valid */
	XIW_DDP_UNTAGGED_MO = 0x204,
	XIW_DDP_UNTAGGED_TOO_LONG = 0x205, /* DDP Message too long for the available buffer */
	XIW_DDP_UNTAGGED_VERSION = 0x206,
};

/* A few words for each, never NULL; static storage. */
XIW_API const char *xiw_mpa_error_name(enum xiw_mpa_error error);
XIW_API const char *xiw_ddp_error_name(enum xiw_ddp_error error);

XIW_END_DECLS

#endif
