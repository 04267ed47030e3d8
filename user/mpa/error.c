/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <xiwarp/error.h>

#define N(a) (sizeof(a) / sizeof((a)[0]))

const char *xiw_mpa_error_name(enum xiw_mpa_error error)
{
	static const char *const names[] = {
		[0] = "no error",
		[XIW_MPA_ERR_CLOSED] = "TCP connection closed, terminated or lost",
		[XIW_MPA_ERR_CRC] = "CRC mismatch",
		[XIW_MPA_ERR_MARKER] = "marker and ULPDU length mismatch",
		[XIW_MPA_ERR_STARTUP] = "invalid MPA Request or Reply frame",
		[XIW_MPA_ERR_LOCAL] = "local catastrophic error",
		[XIW_MPA_ERR_IRD] = "insufficient IRD resources",
		[XIW_MPA_ERR_RTR] = "no matching RTR option",
	};

	return (unsigned int)error < N(names) && names[error] ? names[error] : "unknown";
}
