// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the client of `xiwarp perf` reports of a run. */
#include <inttypes.h>
#include <stdio.h>

#include "perf.h"
#include "report.h"
#include "text.h"

const char *xiw_perf_op_name(unsigned int op)
{
	static const char *const names[] = { "Write", "Send", "Read" };

	return op < XIW_PERF_OPS ? names[op] : "?";
}

bool xiw_perf_receives(const struct xiw_perf_end *e, const struct xiw_perf_result *r)
{
	return (e->direct + e->kernel) * 20 > r->octets;
}

double xiw_perf_ns_per_octet(uint64_t ns, const struct xiw_perf_result *r)
{
	return r->octets ? (double)ns / (double)r->octets : 0;
}

static double seconds(const struct xiw_perf_result *r)
{
	return (double)r->here.wall_ns / 1e9;
}

/* Messages of both ends; of those that go there and back, the pairs. */
static uint64_t messages(const struct xiw_perf_test *t, const struct xiw_perf_result *r)
{
	return r->here.messages + (t->params.latency ? 0 : r->there.messages);
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

/* `gets`: data come to this end, so its path matters. */
static struct json_object *end_json(const struct xiw_perf_end *e, const struct xiw_perf_result *r,
				    bool gets)
{
	struct json_object *o = json_object_new_object();
	const char *reason = xiw_reason_name(e->reason);

	xiw_json_u64(o, "messages", e->messages);
	xiw_json_u64(o, "octets_sent", e->sent);
	xiw_json_octets(o, e->direct, e->kernel);
	xiw_json_u64(o, "cpu_ns", e->cpu_ns);
	xiw_json_f(o, "cpu_ns_per_octet", xiw_perf_ns_per_octet(e->cpu_ns, r), "%.4f");
	xiw_json_f(o, "host_cpu_ns_per_octet", xiw_perf_ns_per_octet(e->host_ns, r), "%.4f");
	xiw_json_u64(o, "host_cpu_ns", e->host_ns);
	xiw_json_u64(o, "host_cpus", e->cpus);
	xiw_json_u64(o, "thread_count", e->threads);
	xiw_json_str(o, "no_direct", gets ? e->no_direct : "");
	xiw_json_u64(o, "went_kernel", e->went_kernel);
	xiw_json_str(o, "left_direct_for", e->reason_count && reason ? reason : "");
	xiw_json_u64(o, "segments_dropped", e->dropped);
	xiw_json_u64(o, "crc_errors", e->crc_errors);
	xiw_json_u64(o, "holds", e->holds);
	xiw_json_bool(o, "zero_copy", e->zero_copy);
	xiw_json_bool(o, "crc", e->crc);
	return o;
}

static void add_latency(struct json_object *o, const struct xiw_hist *h)
{
	struct json_object *l = json_object_new_object();

	xiw_json_u64(l, "count", h->count);
	xiw_json_f(l, "min_us", (double)h->least / 1e3, "%.3f");
	xiw_json_f(l, "p50_us", (double)xiw_hist_at(h, 0.5) / 1e3, "%.3f");
	xiw_json_f(l, "p99_us", (double)xiw_hist_at(h, 0.99) / 1e3, "%.3f");
	xiw_json_f(l, "p99_9_us", (double)xiw_hist_at(h, 0.999) / 1e3, "%.3f");
	xiw_json_f(l, "max_us", (double)h->most / 1e3, "%.3f");
	json_object_object_add(o, "round_trip", l);
}

static struct json_object *intervals_json(const struct xiw_perf_test *t,
					  const struct xiw_perf_result *r)
{
	struct json_object *list = json_object_new_array();
	struct xiw_perf_sample from = {};

	for (unsigned int i = 0; i < r->nsamples; from = r->samples[i++]) {
		struct json_object *o = json_object_new_object();
		const uint64_t n = r->samples[i].messages - from.messages;
		const double s = r->samples[i].seconds - from.seconds;

		xiw_json_f(o, "until", r->samples[i].seconds, "%.3f");
		xiw_json_u64(o, "messages", n);
		if (!t->params.latency)
			xiw_json_f(o, "gbit_per_s", xiw_gbit_per_s(n * r->size, s), "%.4f");
		json_object_array_add(list, o);
	}
	return list;
}

static void report_json(const struct xiw_perf_test *t, const struct xiw_perf_result *r)
{
	struct json_object *o = json_object_new_object();
	const double s = seconds(r);
	char why[512];

	xiw_json_str(o, "role", "client");
	xiw_json_str(o, "peer", t->server);
	xiw_json_str(o, "op", xiw_perf_op_name(t->params.op));
	xiw_json_str(o, "measure", t->params.latency ? "latency" : "bandwidth");
	xiw_json_u64(o, "size", r->size);
	xiw_json_u64(o, "depth", t->params.depth);
	xiw_json_u64(o, "connections", t->params.connections);
	xiw_json_bool(o, "both", t->params.both);
	xiw_json_bool(o, "interrupted", r->interrupted);
	xiw_json_f(o, "seconds", s, "%.6f");
	xiw_json_u64(o, "messages", messages(t, r));
	xiw_json_f(o, "messages_per_s", s > 0 ? (double)messages(t, r) / s : 0, "%.1f");
	xiw_json_u64(o, "octets", r->octets);
	xiw_json_f(o, "gbit_per_s", xiw_gbit_per_s(r->octets, s), "%.4f");
	if (r->hist)
		add_latency(o, r->hist);
	json_object_object_add(o, "client",
			       end_json(&r->here, r, xiw_perf_gets(&t->params, false)));
	json_object_object_add(o, "server",
			       end_json(&r->there, r, xiw_perf_gets(&t->params, true)));
	xiw_json_u64(o, "segments_sent", r->tcp_segments);
	xiw_json_u64(o, "segments_sent_again", r->tcp_again);
	json_object_object_add(o, "intervals", intervals_json(t, r));
	xiw_json_str(o, "why", xiw_perf_why(r, why));
	xiw_json_ring(o); /* at this end */
	xiw_json_print(o);
}

/* ---- text ---------------------------------------------------------------------------------------- */

static void print_end(const char *who, const struct xiw_perf_end *e,
		      const struct xiw_perf_result *r)
{
	char octets[32];

	printf("  %s: %.2f ns of CPU per octet (whole host %.2f)", who,
	       xiw_perf_ns_per_octet(e->cpu_ns, r), xiw_perf_ns_per_octet(e->host_ns, r));
	if (xiw_perf_receives(e, r))
		printf(", received %s, %.2f %% direct", xiw_octets(e->direct + e->kernel, octets),
		       100 * xiw_share(e->direct, e->kernel));
	if (*e->no_direct && xiw_perf_receives(e, r)) {
		char shown[XIW_PERF_TEXT];

		printf("; no direct path: %s", xiw_printable(e->no_direct, shown, sizeof(shown)));
	}
	putchar('\n');
}

static void report_text(const struct xiw_perf_test *t, const struct xiw_perf_result *r)
{
	const char *stopped = r->interrupted ? " (interrupted)" : "";
	const struct xiw_hist *h = r->hist;
	char size[32], rate[32], why[512];
	const double s = seconds(r);

	printf("%s%s of %s, depth %" PRIu32 ", %" PRIu32 " connection%s, %s: ",
	       xiw_perf_op_name(t->params.op), t->params.both ? " in both directions" : "",
	       xiw_octets(r->size, size), t->params.depth, t->params.connections,
	       t->params.connections == 1 ? "" : "s", t->server);
	if (h)
		printf("round trip p50 %.1f us, p99 %.1f us, p99.9 %.1f us, max %.1f us, "
		       "%.0f/s%s\n",
		       (double)xiw_hist_at(h, 0.5) / 1e3, (double)xiw_hist_at(h, 0.99) / 1e3,
		       (double)xiw_hist_at(h, 0.999) / 1e3, (double)h->most / 1e3,
		       s > 0 ? (double)h->count / s : 0, stopped);
	else
		printf("%s, %.0f messages/s, %.2f s%s\n", xiw_rate(r->octets, s, rate),
		       s > 0 ? (double)messages(t, r) / s : 0, s, stopped);
	print_end("client", &r->here, r);
	print_end("server", &r->there, r);
	if (*xiw_perf_why(r, why))
		printf("  limits: %s\n", why);
	fflush(stdout);
}

void xiw_perf_report(const struct xiw_perf_test *t, const struct xiw_perf_result *r)
{
	if (t->args->json)
		report_json(t, r);
	else
		report_text(t, r);
}
