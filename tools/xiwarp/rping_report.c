// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What `xiwarp rping` reports of a connection. */
#include "rping.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "exit.h"
#include "report.h"
#include "telling.h"
#include "text.h"

static void report_terminate(struct json_object *o, const char *key,
			     const struct xiw_rdma_terminate_info *t)
{
	struct json_object *e;

	if (!t->present) {
		json_object_object_add(o, key, NULL);
		return;
	}
	e = json_object_new_object();
	xiw_json_u64(e, "layer", t->layer);
	xiw_json_u64(e, "type", t->etype);
	xiw_json_u64(e, "code", t->code);
	xiw_json_str(e, "name", xiw_rdma_terminate_name(t));
	xiw_json_bool(e, "reversed", t->reversed);
	if (t->has_segment_len)
		xiw_json_u64(e, "segment_length", t->segment_len);
	xiw_json_hex(e, "ddp_header", t->ddp_header, t->ddp_header_len);
	json_object_object_add(o, key, e);
}

static void report_json(const struct xiw_rping *p, const struct xiw_conn_info *i,
			const struct xiw_rdma_info *r, double s)
{
	struct json_object *o = json_object_new_object();

	xiw_json_str(o, "role", p->server ? "server" : "client");
	xiw_json_str(o, "peer", p->peer.name);
	xiw_json_u64(o, "iterations", p->iterations);
	xiw_json_u64(o, "octets", p->octets);
	xiw_json_u64(o, "mismatches", p->mismatches);
	xiw_json_f(o, "seconds", s, "%.9f");
	xiw_json_f(o, "gbit_per_s", xiw_gbit_per_s(p->octets, s), "%.4f");
	xiw_json_f(o, "iterations_per_s", s > 0 ? (double)p->iterations / s : 0, "%.1f");
	xiw_json_octets(o, i->octets_direct, i->octets_kernel);
	xiw_json_direct(o, i);
	xiw_json_hand_offs(o, i);
	xiw_json_u64(o, "revision", i->revision);
	xiw_json_startup(o, i);
	xiw_json_u64(o, "ird", r->ird);
	xiw_json_u64(o, "ord", r->ord);
	xiw_json_u64(o, "sends_in", r->sends_in);
	xiw_json_u64(o, "sends_out", r->sends_out);
	xiw_json_u64(o, "writes_in", r->writes_in);
	xiw_json_u64(o, "writes_out", r->writes_out);
	xiw_json_u64(o, "reads_in", r->reads_in);
	xiw_json_u64(o, "reads_out", r->reads_out);
	xiw_json_u64(o, "crc_errors", i->crc_errors);
	xiw_json_errors(o, i);
	report_terminate(o, "terminate_sent", &r->sent);
	report_terminate(o, "terminate_received", &r->received);
	xiw_json_str(o, "socket_error", i->error ? strerror(i->error) : "");
	xiw_json_str(o, "error", p->why);
	xiw_json_print(o);
}

static void report_text(const struct xiw_rping *p, const struct xiw_conn_info *i, double s)
{
	char octets[32], why[128];

	printf("%s %s: %" PRIu64 " iterations, %s", p->server ? "client" : "server", p->peer.name,
	       p->iterations, xiw_octets(p->octets, octets));
	if (s > 0)
		printf(" in %s", xiw_seconds(s, octets));
	printf(", %.2f %% received direct, CRC %s%s\n",
	       100 * xiw_share(i->octets_direct, i->octets_kernel), i->crc ? "on" : "off",
	       xiw_no_direct_text(i, why));
	fflush(stdout);
	if (*p->why)
		xiw_fail(0, "%s: %s", p->peer.name, p->why);
}

void xiw_rping_report(const struct xiw_rping *p)
{
	double s = (double)(p->last_ns - p->first_ns) / 1e9;
	struct xiw_conn_info info;
	struct xiw_rdma_info rdma;

	xiw_conn_info(p->peer.conn, &info, sizeof(info));
	xiw_rdma_info(p->rdma, &rdma, sizeof(rdma));
	if (p->args->json)
		report_json(p, &info, &rdma, s);
	else if (!p->server || xiw_may_tell())
		report_text(p, &info, s);
}
