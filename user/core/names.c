// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The names of reasons, of causes, and of operations, for reports. */
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
		[XIW_REASON_FRAGMENT] = "IP fragment or options",
		[XIW_REASON_UNSEEN] = "frames lost before AF_XDP",
		[XIW_REASON_REFUSED] = "segments refused",
		[XIW_REASON_CHECKSUM] = "TCP checksums wrong",
		[XIW_REASON_CRC] = "CRCs wrong",
		[XIW_REASON_EGRESS] = "egress not seen",
		[XIW_REASON_UNHEARD] = "acknowledgements not heard",
		[XIW_REASON_INJECT] = "injections lost",
		[XIW_REASON_HEADROOM] = "no headroom",
		[XIW_REASON_ELSEWHERE] = "another interface",
		[XIW_REASON_STEERED] = "queue of another engine",
		[XIW_REASON_NO_BUFFER] = "no buffer posted",
		[XIW_REASON_LONG] = "packet longer than AF_XDP takes",
		[XIW_REASON_REBOUND] = "queues bound anew",
		[XIW_REASON_TAGS] = "VLAN tags stripped",
		[XIW_REASON_BYPASS] = "packets pass XDP by",
		[XIW_REASON_GAP] = "gap that lasts",
		[XIW_REASON_OUTPUT] = "output dropped",
		[XIW_REASON_BRIDGE] = "netfilter of a bridge",
		[XIW_REASON_APART] = "conntrack zone of lo",
	};

	return reason < N(names) ? names[reason] : NULL;
}

const char *xiw_drop_name(unsigned int drop)
{
	return drop < XIW_TCP_DROP_MAX ? xiw_tcp_drop_name((enum xiw_tcp_drop)drop) : NULL;
}

const char *xiw_operation_name(enum xiw_operation operation)
{
	static const char *const names[XIW_OPERATION_MAX] = {
		[XIW_OPERATION_NONE] = "none",
		[XIW_OPERATION_SEND] = "Send",
		[XIW_OPERATION_WRITE] = "Write",
		[XIW_OPERATION_READ] = "Read",
		[XIW_OPERATION_RECV] = "Recv",
		[XIW_OPERATION_IMMEDIATE] = "Immediate Data",
		[XIW_OPERATION_FETCH_ADD] = "FetchAdd",
		[XIW_OPERATION_CMP_SWAP] = "CmpSwap",
		[XIW_OPERATION_REGISTER] = "Register",
		[XIW_OPERATION_LOCAL_INVALIDATE] = "Local Invalidate",
	};

	return operation < N(names) ? names[operation] : "unknown operation";
}

const char *xiw_cause_name(enum xiw_cause cause)
{
	static const char *const names[XIW_CAUSE_MAX] = {
		[XIW_CAUSE_NONE] = "success",
		[XIW_CAUSE_FLUSHED] = "flushed",
		[XIW_CAUSE_LOCAL_LENGTH] = "message longer than its buffer",
		[XIW_CAUSE_LOCAL_PROTECTION] = "local memory not accessible",
		[XIW_CAUSE_LOCAL_ACCESS] = "the peer's Send was not allowed",
		[XIW_CAUSE_BAD_RESPONSE] = "wrong answer to a Read",
		[XIW_CAUSE_REMOTE_INVALID] = "invalid for the peer",
		[XIW_CAUSE_REMOTE_ACCESS] = "no access to the peer's memory",
		[XIW_CAUSE_REMOTE_OPERATION] = "the peer could not do it",
		[XIW_CAUSE_TIMEOUT] = "the peer was silent",
		[XIW_CAUSE_NOT_READY] = "the peer had no buffer",
	};

	return cause < N(names) ? names[cause] : "unknown cause";
}
