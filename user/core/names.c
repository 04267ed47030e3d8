// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The names of reasons and of causes of drops, for reports. */
#include <stddef.h>

#include "core/engine.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

const char *xiw_reason_name(unsigned int reason)
{
	static const char *const names[XIW_REASON__COUNT] = {
		[XIW_REASON_NONE] = "none",
		[XIW_REASON_MISALIGNED] = "misaligned",
		[XIW_REASON_TOO_LARGE] = "FPDU larger than a segment",
		[XIW_REASON_FIN] = "FIN",
		[XIW_REASON_URGENT] = "urgent data",
		[XIW_REASON_CLOSE] = "close",
		[XIW_REASON_ERROR] = "stream error",
		[XIW_REASON_WATCHDOG] = "watchdog",
		[XIW_REASON_NO_XSK] = "no AF_XDP socket",
		[XIW_REASON_RACE] = "race of two CPUs",
		[XIW_REASON_BOUNDARY] = "not at an FPDU's start",
		[XIW_REASON_FRAGMENT] = "IP fragment",
		[XIW_REASON_UNSEEN] = "frames lost before AF_XDP",
		[XIW_REASON_REFUSED] = "segments refused",
		[XIW_REASON_CHECKSUM] = "TCP checksums wrong",
		[XIW_REASON_CRC] = "CRCs wrong",
		[XIW_REASON_EGRESS] = "egress not seen",
		[XIW_REASON_UNHEARD] = "acknowledgements not heard",
		[XIW_REASON_INJECT] = "injections lost",
		[XIW_REASON_HEADROOM] = "no headroom",
		[XIW_REASON_ELSEWHERE] = "another interface",
	};

	return reason < N(names) ? names[reason] : NULL;
}

const char *xiw_drop_name(unsigned int drop)
{
	return drop < XIW_TCP_DROP_MAX ? xiw_tcp_drop_name((enum xiw_tcp_drop)drop) : NULL;
}
