/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <xiwarp/error.h>

const char *xiw_ddp_error_name(enum xiw_ddp_error error)
{
	switch (error) {
	case XIW_DDP_OK:
		return "no error";
	case XIW_DDP_LOCAL_CATASTROPHIC:
		return "local catastrophic error";
	case XIW_DDP_TAGGED_STAG:
		return "invalid STag";
	case XIW_DDP_TAGGED_BOUNDS:
		return "base or bounds violation";
	case XIW_DDP_TAGGED_NOT_STREAM:
		return "STag not associated with the DDP Stream";
	case XIW_DDP_TAGGED_TO_WRAP:
		return "TO wrap";
	case XIW_DDP_TAGGED_VERSION:
		return "invalid DDP version (tagged)";
	case XIW_DDP_UNTAGGED_QN:
		return "invalid QN";
	case XIW_DDP_UNTAGGED_NO_BUFFER:
		return "invalid MSN: no buffer available";
	case XIW_DDP_UNTAGGED_MSN_RANGE:
		return "invalid MSN: MSN range is not valid";
	case XIW_DDP_UNTAGGED_MO:
		return "invalid MO";
	case XIW_DDP_UNTAGGED_TOO_LONG:
		return "DDP Message too long for the available buffer";
	case XIW_DDP_UNTAGGED_VERSION:
		return "invalid DDP version (untagged)";
	}
	return "unknown DDP error";
}
