/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names for the numbers of a Terminate, RFC 5040 Figure 9. */
#include <xiwarp/rdmap.h>

const char *xiw_rdmap_error_name(enum xiw_rdmap_error error)
{
	switch (error) {
	case XIW_RDMAP_OK:
		return "no error";
	case XIW_RDMAP_LOCAL_CATASTROPHIC:
		return "local catastrophic error";
	case XIW_RDMAP_STAG:
		return "invalid STag";
	case XIW_RDMAP_BOUNDS:
		return "base or bounds violation";
	case XIW_RDMAP_ACCESS:
		return "access rights violation";
	case XIW_RDMAP_NOT_STREAM:
		return "STag not associated with RDMAP Stream";
	case XIW_RDMAP_TO_WRAP:
		return "TO wrap";
	case XIW_RDMAP_CANNOT_INVALIDATE:
	case XIW_RDMAP_CANNOT_INVALIDATE_OP:
		return "STag cannot be invalidated";
	case XIW_RDMAP_PROTECTION:
		return "unspecified remote protection error";
	case XIW_RDMAP_VERSION:
		return "invalid RDMAP version";
	case XIW_RDMAP_OPCODE:
		return "unexpected opcode";
	case XIW_RDMAP_STREAM:
		return "catastrophic error, localized to RDMAP Stream";
	case XIW_RDMAP_GLOBAL:
		return "catastrophic error, global";
	case XIW_RDMAP_OPERATION:
		return "unspecified remote operation error";
	}
	return "unknown RDMAP error";
}

const char *xiw_rdma_terminate_name(const struct xiw_rdma_terminate_info *t)
{
	const unsigned int number = (unsigned int)t->etype << 8 | t->code;

	if (!t->present)
		return "none";
	switch (t->layer) {
	case XIW_RDMA_LAYER_RDMAP:
		return xiw_rdmap_error_name(t->etype ? (enum xiw_rdmap_error)number
						     : XIW_RDMAP_LOCAL_CATASTROPHIC);
	case XIW_RDMA_LAYER_DDP:
		return xiw_ddp_error_name(t->etype ? (enum xiw_ddp_error)number
						   : XIW_DDP_LOCAL_CATASTROPHIC);
	case XIW_RDMA_LAYER_LLP:
		return t->etype ? "unknown LLP error"
				: xiw_mpa_error_name((enum xiw_mpa_error)t->code);
	}
	return "unknown layer";
}
