// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Words for the numbers in reports. */
#include <stddef.h>

#include "core/engine.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

const char *xiw_reason_name(unsigned int why)
{
	static const char *const names[XIW_WHY__COUNT] = {
		[XIW_WHY_NONE] = "none",
		[XIW_WHY_MISALIGNED] = "misaligned",
		[XIW_WHY_TOO_LARGE] = "FPDU larger than a segment",
		[XIW_WHY_FIN] = "FIN",
		[XIW_WHY_URGENT] = "urgent data",
		[XIW_WHY_CLOSE] = "close",
		[XIW_WHY_ERROR] = "stream error",
		[XIW_WHY_WATCHDOG] = "watchdog",
		[XIW_WHY_NO_XSK] = "no AF_XDP socket",
		[XIW_WHY_RACE] = "race of two CPUs",
		[XIW_WHY_BOUNDARY] = "not at an FPDU's start",
		[XIW_WHY_FRAGMENT] = "IP fragment",
		[XIW_WHY_UNSEEN] = "frames lost before AF_XDP",
		[XIW_WHY_REFUSED] = "segments refused",
		[XIW_WHY_CHECKSUM] = "TCP checksums wrong",
		[XIW_WHY_CRC] = "CRCs wrong",
		[XIW_WHY_EGRESS] = "egress not seen",
		[XIW_WHY_UNHEARD] = "acknowledgements not heard",
		[XIW_WHY_INJECT] = "injections lost",
		[XIW_WHY_HEADROOM] = "no headroom",
		[XIW_WHY_ELSEWHERE] = "another interface",
	};

	return why < N(names) ? names[why] : NULL;
}

const char *xiw_drop_name(unsigned int drop)
{
	return drop < XIW_TCP_DROP_MAX ? xiw_tcp_drop_name((enum xiw_tcp_drop)drop) : NULL;
}
