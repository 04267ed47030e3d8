// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report.h"

#include <stdio.h>
#include <string.h>

static struct {
	const char *name;
	char why[96];
} ring = { .name = "" };

void xiw_report_ring(const struct xiw_engine *engine)
{
	struct xiw_engine_info i;

	xiw_engine_info(engine, &i, sizeof(i));
	ring.name = i.ring;
	memcpy(ring.why, i.ring_why, sizeof(ring.why));
}

void xiw_report_no_ring(int err)
{
	ring.name = "none";
	snprintf(ring.why, sizeof(ring.why), "%s", strerror(-err));
}

void xiw_json_ring(struct json_object *o)
{
	xiw_json_str(o, "ring", ring.name);
	xiw_json_str(o, "ring_why", ring.why);
}

void xiw_print_ring(void)
{
	printf("ring: %s%s%s%s\n", ring.name, *ring.why ? " (" : "", ring.why,
	       *ring.why ? ")" : "");
}

double xiw_share(uint64_t direct, uint64_t kernel)
{
	return direct + kernel ? (double)direct / (double)(direct + kernel) : 0;
}

void xiw_json_octets(struct json_object *o, uint64_t direct, uint64_t kernel)
{
	xiw_json_u64(o, "octets_direct", direct);
	xiw_json_u64(o, "octets_kernel", kernel);
	xiw_json_f(o, "direct_share", xiw_share(direct, kernel), "%.6f");
}

void xiw_json_direct(struct json_object *o, const struct xiw_conn_info *info)
{
	xiw_json_str(o, "no_direct", info->no_direct);
	xiw_json_bool(o, "zero_copy", info->zero_copy);
	xiw_json_ring(o);
}

void xiw_json_hand_offs(struct json_object *o, const struct xiw_conn_info *info)
{
	xiw_json_u64(o, "went_direct", info->went_direct);
	xiw_json_u64(o, "went_kernel", info->went_kernel);
	xiw_json_u64(o, "hand_offs", info->went_direct + info->went_kernel);
	xiw_json_reasons(o, info->reasons);
}

void xiw_json_reasons(struct json_object *o, const uint32_t *why)
{
	struct json_object *reasons = json_object_new_object();

	for (unsigned int i = 1; i < XIW_REASON__COUNT; i++)
		if (why[i])
			xiw_json_u64(reasons, xiw_reason_name(i), why[i]);
	json_object_object_add(o, "left_direct", reasons);
}

void xiw_json_errors(struct json_object *o, const struct xiw_conn_info *info)
{
	xiw_json_u64(o, "mpa_error", info->mpa_error);
	if (info->mpa_error)
		xiw_json_str(o, "mpa_error_name", xiw_mpa_error_name(info->mpa_error));
	xiw_json_bool(o, "ddp_error", info->ddp_error != XIW_DDP_OK);
	if (!info->ddp_error)
		return;
	xiw_json_u64(o, "ddp_error_type", info->ddp_error >> 8 & 0xff);
	xiw_json_u64(o, "ddp_error_code", info->ddp_error & 0xff);
	xiw_json_str(o, "ddp_error_name", xiw_ddp_error_name(info->ddp_error));
}

void xiw_json_startup(struct json_object *o, const struct xiw_conn_info *info)
{
	xiw_json_bool(o, "enhanced", info->enhanced);
	xiw_json_bool(o, "peer_to_peer", info->peer_to_peer);
	xiw_json_bool(o, "crc", info->crc);
	xiw_json_bool(o, "markers_in", info->markers_in);
	xiw_json_bool(o, "markers_out", info->markers_out);
}

void xiw_print_reasons(const uint32_t *why)
{
	for (unsigned int i = 1; i < XIW_REASON__COUNT; i++)
		if (why[i])
			printf(", %s %u", xiw_reason_name(i), why[i]);
}

const char *xiw_no_direct_text(const struct xiw_conn_info *info, char buf[128])
{
	snprintf(buf, 128, "%s%s", *info->no_direct ? "; no direct path: " : "", info->no_direct);
	return buf;
}
