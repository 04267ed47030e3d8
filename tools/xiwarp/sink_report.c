// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What `xiwarp sink` reports of a connection. */
#include "sink.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ends.h"
#include "report.h"
#include "text.h"

static double seconds_of(const struct xiw_sink_peer *p)
{
	return (double)(p->last_ns - p->first_ns) / 1e9;
}

static size_t header_len(const struct xiw_conn_info *i)
{
	return i->error_header_len < sizeof(i->error_header) ? i->error_header_len
							     : sizeof(i->error_header);
}

static void report_text(const struct xiw_sink_peer *p, const struct xiw_conn_info *i)
{
	char direct[32], kernel[32], text[256], local[80], no_direct[128];
	char header[2 * sizeof(i->error_header) + 1];
	const char *why = xiw_end_text(i, text);
	double s = seconds_of(p);

	printf("%s -> %s: %s\n", p->peer.name, xiw_addr_name(&i->local, local),
	       why ? why : "orderly");
	printf("  %-10s %s in %" PRIu64 " segments (%.2f %% of octets)\n", "direct",
	       xiw_octets(i->octets_direct, direct), i->segments_direct,
	       100 * xiw_share(i->octets_direct, i->octets_kernel));
	printf("  %-10s %s in %" PRIu64 " segments%s\n", "kernel",
	       xiw_octets(i->octets_kernel, kernel), i->segments_kernel,
	       xiw_no_direct_text(i, no_direct));
	printf("  %-10s %" PRIu64 " FPDUs; %" PRIu64 " tagged messages, %" PRIu64
	       " octets; %" PRIu64 " untagged, %" PRIu64 " octets\n",
	       "received", i->fpdus, p->tagged, p->tagged_octets, p->untagged, p->untagged_octets);
	if (s > 0)
		printf("  %-10s %s, %s\n", "time", xiw_seconds(s, direct),
		       xiw_rate(i->octets_direct + i->octets_kernel, s, kernel));
	printf("  %-10s to direct %" PRIu64 ", to kernel %" PRIu64, "hand-offs", i->went_direct,
	       i->went_kernel);
	xiw_print_reasons(i->reasons);
	printf("\n  %-10s crc %" PRIu64, "refused", i->crc_errors);
	if (i->early_refused)
		printf(", out of order %" PRIu64, i->early_refused);
	for (unsigned int d = 0; d < XIW_DROPS_MAX; d++)
		if (i->drops[d] && xiw_drop_name(d))
			printf(", %s %" PRIu64, xiw_drop_name(d), i->drops[d]);
	xiw_hex(i->error_header, header_len(i), header);
	if (*header)
		printf("\n  %-10s %s", "header", header);
	putchar('\n');
	fflush(stdout);
}

static void report_errors(struct json_object *o, const struct xiw_conn_info *i)
{
	xiw_json_errors(o, i);
	xiw_json_hex(o, "error_header", i->error_header, header_len(i));
	xiw_json_str(o, "socket_error", i->error ? strerror(i->error) : "");
}

/* What the MPA Request asked for, and what was agreed. */
static void report_startup(struct json_object *o, const struct xiw_sink_peer *p,
			   const struct xiw_conn_info *i)
{
	const uint8_t *pd;
	size_t len;

	pd = xiw_conn_private_data(p->peer.conn, &len);
	xiw_json_u64(o, "revision", i->revision);
	xiw_json_hex(o, "private_data", pd, len);
	xiw_json_bool(o, "rejected", i->rejected);
	xiw_json_startup(o, i);
	if (!i->enhanced)
		return;
	xiw_json_u64(o, "ird", i->ird);
	xiw_json_u64(o, "ord", i->ord);
	xiw_json_u64(o, "peer_ird", i->peer_ird);
	xiw_json_u64(o, "peer_ord", i->peer_ord);
}

static void report_segments(struct json_object *o, const struct xiw_conn_info *i)
{
	struct json_object *drops = json_object_new_object();

	xiw_json_u64(o, "acks_sent", i->acks_sent);
	xiw_json_u64(o, "injected", i->injected);
	xiw_json_u64(o, "armed", i->armed);
	xiw_json_u64(o, "segments_dropped", i->segments_dropped);
	xiw_json_u64(o, "challenges_withheld", i->challenges_withheld);
	xiw_json_u64(o, "crc_errors", i->crc_errors);
	xiw_json_u64(o, "early_refused", i->early_refused);
	for (unsigned int d = 0; d < XIW_DROPS_MAX; d++)
		if (i->drops[d] && xiw_drop_name(d))
			xiw_json_u64(drops, xiw_drop_name(d), i->drops[d]);
	json_object_object_add(o, "drops", drops);
}

static void report_json(const struct xiw_sink_peer *p, const struct xiw_conn_info *i)
{
	struct json_object *o = json_object_new_object();
	double s = seconds_of(p);
	char local[80];

	xiw_json_str(o, "peer", p->peer.name);
	xiw_json_str(o, "local", xiw_addr_name(&i->local, local));
	xiw_json_direct(o, i);
	report_startup(o, p, i);
	xiw_json_octets(o, i->octets_direct, i->octets_kernel);
	xiw_json_u64(o, "stream_direct", i->stream_direct);
	xiw_json_u64(o, "stream_kernel", i->stream_kernel);
	xiw_json_u64(o, "segments_direct", i->segments_direct);
	xiw_json_u64(o, "segments_kernel", i->segments_kernel);
	xiw_json_u64(o, "fpdus", i->fpdus);
	xiw_json_u64(o, "messages", i->messages);
	xiw_json_u64(o, "tagged_messages", p->tagged);
	xiw_json_u64(o, "tagged_octets", p->tagged_octets);
	xiw_json_u64(o, "untagged_messages", p->untagged);
	xiw_json_u64(o, "untagged_octets", p->untagged_octets);
	xiw_json_u64(o, "fpdus_early", i->fpdus_early);
	xiw_json_f(o, "seconds", s, "%.9f");
	xiw_json_f(o, "gbit_per_s", xiw_gbit_per_s(i->octets_direct + i->octets_kernel, s), "%.4f");
	xiw_json_hand_offs(o, i);
	report_segments(o, i);
	report_errors(o, i);
	xiw_json_print(o);
}

void xiw_sink_report(const struct xiw_sink_peer *p, const struct xiw_conn_info *info)
{
	if (p->peer.receiver->args->json)
		report_json(p, info);
	else
		report_text(p, info);
}
