// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * bench_report TARGETS RUNS ROWS... OUT - reads the results of single runs, prints a table, and writes a report.
 *
 * TARGETS has lines NAME MTU REGION_MIB most|least RATIO: what a row's ratio is to reach. A row gets the first one that
 * fits.
 *
 * RUNS has a line for each run, in order: MTU REGION_MIB IN_FLIGHT CASE LOST SENDER {result of wire_bench}; SENDER is
 * what the sender printed. ROWS are files of rows, as bench_rows and draft_bench print them; of several rows about the
 * same, the first one counts. A row that is `absent` has that text, which says why, in place of figures.
 */
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#define ROUNDS_MAX 101

enum which { DIRECT, MARKERS, KERNEL, LOADED, BEFORE, PLAIN, FLOOR, CASES };
enum metric { GOODPUT, NAPI, APP, TOGETHER, SENDER, METRICS };

/* The runs of one case in one scene. */
struct series {
	double v[METRICS][ROUNDS_MAX];
	int n;
	double least_direct; /* share of octets that went direct */
	long lost;	     /* frames lost because the wire's ring was full */
};

/* What all cases have in common. */
struct scene {
	int mtu, region_mib;
	long in_flight; /* most octets in flight */
	struct series series[CASES];
};

struct summary {
	double median, min, max;
};

static const struct {
	const char *key, *text, *how;
} cases[CASES] = {
	{ "direct", "direct path",
	  "MPA and DDP with CRC32c over AF_XDP, xiw_ingress and xiw_egress attached" },
	{ "markers", "direct path, markers",
	  "MPA with markers and DDP with CRC32c over AF_XDP, xiw_ingress and xiw_egress attached" },
	{ "kernel", "kernel path",
	  "MPA and DDP with CRC32c from the kernel's socket, no XDP program, GRO on" },
	{ "kernel_loaded", "kernel path, programs loaded",
	  "MPA and DDP with CRC32c from the kernel's socket, xiw_ingress and xiw_egress attached" },
	{ "kernel_before", "kernel path, before",
	  "MPA and DDP with CRC32c from the kernel's socket as in commit 6e0cce7, no XDP program, "
	  "GRO on" },
	{ "plain_tcp", "plain TCP",
	  "recv() of 256 KiB at a time, no framing, no CRC, no XDP program, GRO on" },
	{ "floor", "floor of AF_XDP",
	  "frames of the same length, each redirected by an XDP program that does nothing else, "
	  "and its "
	  "payload copied once to the same place, no TCP, no CRC, no answers" },
};

static const struct {
	const char *key, *unit, *text;
	bool higher;
} metrics[METRICS] = {
	{ "goodput", "Gbit/s", "payload", true },
	{ "napi", "ns/octet", "the receiver's NAPI thread", false },
	{ "app", "ns/octet", "the application, all its threads and system calls", false },
	{ "together", "ns/octet", "NAPI thread and application", false },
	{ "sender", "ns/octet", "the sender's NAPI thread and application", false },
};

/* Senders are compared on the direct path only: none of them knows by which path its octets are received. */
static const struct {
	enum which ours, other;
	enum metric first, last;
} pairs[] = {
	{ DIRECT, KERNEL, GOODPUT, TOGETHER },	{ DIRECT, PLAIN, GOODPUT, SENDER },
	{ KERNEL, PLAIN, GOODPUT, TOGETHER },	{ DIRECT, LOADED, GOODPUT, TOGETHER },
	{ DIRECT, FLOOR, NAPI, TOGETHER },	{ DIRECT, BEFORE, GOODPUT, TOGETHER },
	{ MARKERS, DIRECT, GOODPUT, TOGETHER },
};

static struct scene scenes[16];
static int nscenes;

static void __attribute__((noreturn)) die(const char *what, const char *why)
{
	fprintf(stderr, "bench_report: %s: %s\n", what, why);
	exit(1);
}

static double number(json_object *o, const char *key)
{
	json_object *v;

	if (!json_object_object_get_ex(o, key, &v))
		die("a run lacks", key);
	return json_object_get_double(v);
}

static struct series *series_of(int mtu, int region_mib, long in_flight, const char *name)
{
	struct scene *m = scenes;
	int c;

	while (m < scenes + nscenes && (m->mtu != mtu || m->region_mib != region_mib))
		m++;
	for (c = 0; c < CASES && strcmp(cases[c].key, name); c++)
		;
	if (c == CASES || m == scenes + sizeof(scenes) / sizeof(scenes[0]))
		die("unknown case", name);
	if (m == scenes + nscenes) {
		m->mtu = mtu;
		m->region_mib = region_mib;
		m->in_flight = in_flight;
		nscenes++;
	}
	return &m->series[c];
}

static void add_run(struct series *s, json_object *o, long lost, double sender)
{
	double octets = number(o, "octets"), share = number(o, "direct_share");
	int n = s->n;

	if (n == ROUNDS_MAX)
		die("too many rounds", "");
	s->v[GOODPUT][n] = octets * 8 / number(o, "seconds") / 1e9;
	s->v[NAPI][n] = number(o, "napi_cpu_ns") / octets;
	s->v[APP][n] = number(o, "app_cpu_ns") / octets;
	s->v[TOGETHER][n] = s->v[NAPI][n] + s->v[APP][n];
	s->v[SENDER][n] = sender;
	s->least_direct = n ? MIN(s->least_direct, share) : share;
	s->lost += lost;
	s->n++;
}

static void read_runs(const char *path)
{
	char line[2048], name[32];
	FILE *f = fopen(path, "r");
	long in_flight, lost;
	int mtu, region, at;
	double sender;

	if (!f)
		die(path, "cannot be read");
	while (fgets(line, sizeof(line), f)) {
		json_object *o = NULL;

		if (sscanf(line, "%d %d %ld %31s %ld %lf %n", &mtu, &region, &in_flight, name,
			   &lost, &sender, &at) != 6 ||
		    !(o = json_tokener_parse(line + at)))
			die("not a run", line);
		add_run(series_of(mtu, region, in_flight, name), o, lost, sender);
		json_object_put(o);
	}
	fclose(f);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static struct summary summarize(const double *v, int n)
{
	double sorted[ROUNDS_MAX];

	memcpy(sorted, v, sizeof(*v) * n);
	qsort(sorted, n, sizeof(*sorted), by_value);
	return (struct summary){ (sorted[(n - 1) / 2] + sorted[n / 2]) / 2, sorted[0],
				 sorted[n - 1] };
}

static json_object *range(struct summary s)
{
	json_object *o = json_object_new_array();

	json_object_array_add(o, json_object_new_double(s.min));
	json_object_array_add(o, json_object_new_double(s.max));
	return o;
}

static void describe(char *text, size_t size, const struct scene *m, enum which ours,
		     enum which other, enum metric k)
{
	const struct series *a = &m->series[ours], *b = &m->series[other];
	int n;

	n = snprintf(text, size, "%s, %s is better; ours: %s; other: %s; ", metrics[k].text,
		     metrics[k].higher ? "higher" : "lower", cases[ours].how, cases[other].how);
	n += snprintf(text + n, size - n,
		      "from the second MiB to the last; at most %ld KiB in flight; ",
		      m->in_flight / 1024);
	if (k == GOODPUT)
		n += snprintf(text + n, size - n,
			      "sender and wire share one core, which also frames and "
			      "computes CRCs where there are any, and is the bottleneck; ");
	n += snprintf(text + n, size - n, "frames lost to a full ring: ours %ld, other %ld",
		      a->lost, b->lost);
	if (ours == DIRECT || ours == MARKERS)
		snprintf(text + n, size - n, "; at least %.2f %% of ours took the direct path",
			 100 * a->least_direct);
}

static void add_row(json_object *rows, const struct scene *m, enum which ours, enum which other,
		    enum metric k)
{
	const struct series *a = &m->series[ours], *b = &m->series[other];
	struct summary x = summarize(a->v[k], a->n), y = summarize(b->v[k], b->n), r;
	json_object *o = json_object_new_object(), *spread = json_object_new_object();
	int n = MIN(a->n, b->n);
	double ratio[ROUNDS_MAX];
	char text[1024];

	for (int i = 0; i < n; i++)
		ratio[i] = a->v[k][i] / b->v[k][i];
	r = summarize(ratio, n);
	json_object_object_add(spread, "ours", range(x));
	json_object_object_add(spread, "other", range(y));
	json_object_object_add(spread, "ratio", range(r));
	if (k == SENDER)
		snprintf(text, sizeof(text), "send_vs_%s", cases[other].key);
	else
		snprintf(text, sizeof(text), "%s_vs_%s_%s", cases[ours].key, cases[other].key,
			 metrics[k].key);
	json_object_object_add(o, "name", json_object_new_string(text));
	json_object_object_add(o, "mtu", json_object_new_int(m->mtu));
	json_object_object_add(o, "region_mib", json_object_new_int(m->region_mib));
	json_object_object_add(o, "unit", json_object_new_string(metrics[k].unit));
	json_object_object_add(o, "ours", json_object_new_double(x.median));
	json_object_object_add(o, "other", json_object_new_double(y.median));
	json_object_object_add(o, "ratio", json_object_new_double(r.median));
	json_object_object_add(o, "spread", spread);
	json_object_object_add(o, "runs", json_object_new_int(n));
	describe(text, sizeof(text), m, ours, other, k);
	json_object_object_add(o, "included", json_object_new_string(text));
	json_object_array_add(rows, o);
}

static void add_wire_rows(json_object *rows)
{
	for (int m = 0; m < nscenes; m++)
		for (size_t p = 0; p < sizeof(pairs) / sizeof(pairs[0]); p++)
			for (int k = pairs[p].first; k <= (int)pairs[p].last; k++)
				if (scenes[m].series[pairs[p].ours].n &&
				    scenes[m].series[pairs[p].other].n)
					add_row(rows, &scenes[m], pairs[p].ours, pairs[p].other, k);
}

static const char *text(json_object *row, const char *key)
{
	json_object *v;

	return json_object_object_get_ex(row, key, &v) ? json_object_get_string(v) : "";
}

/* Says whether there is a row about the same. */
static bool known(json_object *rows, json_object *row)
{
	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		json_object *o = json_object_array_get_idx(rows, i);

		if (!strcmp(text(o, "name"), text(row, "name")) &&
		    !strcmp(text(o, "mtu"), text(row, "mtu")) &&
		    !strcmp(text(o, "region_mib"), text(row, "region_mib")))
			return true;
	}
	return false;
}

static void add_other_rows(json_object *rows, const char *path)
{
	json_object *others = json_object_from_file(path), *row;

	if (!json_object_is_type(others, json_type_array))
		die(path, "not a list of rows");
	for (size_t i = 0; i < json_object_array_length(others); i++) {
		row = json_object_array_get_idx(others, i);
		if (!known(rows, row))
			json_object_array_add(rows, json_object_get(row));
	}
	json_object_put(others);
}

/* ---- the targets --------------------------------------------------------------------------------- */

static bool fits(json_object *row, const char *key, const char *pattern)
{
	return !strcmp(pattern, "*") || !strcmp(pattern, text(row, key));
}

static void set_target(json_object *rows, char word[5][64])
{
	json_object *target;

	if (strcmp(word[3], "most") && strcmp(word[3], "least"))
		die("neither most nor least", word[3]);
	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		json_object *row = json_object_array_get_idx(rows, i);

		if (!fits(row, "name", word[0]) || !fits(row, "mtu", word[1]) ||
		    !fits(row, "region_mib", word[2]) ||
		    json_object_object_get_ex(row, "target", NULL))
			continue;
		target = json_object_new_object();
		json_object_object_add(target, word[3], json_object_new_double(atof(word[4])));
		json_object_object_add(row, "target", target);
	}
}

static void set_targets(json_object *rows, const char *path)
{
	FILE *f = fopen(path, "r");
	char line[256], word[5][64];

	if (!f)
		die(path, "cannot be read");
	while (fgets(line, sizeof(line), f)) {
		if (line[0] == '#')
			continue;
		if (sscanf(line, "%63s %63s %63s %63s %63s", word[0], word[1], word[2], word[3],
			   word[4]) != 5)
			die("not a target", line);
		set_target(rows, word);
	}
	fclose(f);
}

/* ---- the table ----------------------------------------------------------------------------------- */

static void print_series(const struct scene *m)
{
	printf("\nMTU %d, region of %d MiB, median (min..max)\n%-29s %-21s %-20s %-20s %-20s %-20s "
	       "%6s %s\n",
	       m->mtu, m->region_mib, "", "Gbit/s", "ns/octet NAPI", "application", "together",
	       "sender", "direct", "runs");
	for (int c = 0; c < CASES; c++) {
		const struct series *s = &m->series[c];

		if (!s->n)
			continue;
		printf("%-29s", cases[c].text);
		for (int k = 0; k < METRICS; k++) {
			struct summary x = summarize(s->v[k], s->n);

			printf(k == GOODPUT ? " %5.2f (%5.2f..%5.2f) " : " %.3f (%.3f..%.3f)",
			       x.median, x.min, x.max);
		}
		printf(" %5.1f%% %d\n", 100 * s->least_direct, s->n);
	}
}

static double member(json_object *row, const char *name, size_t i)
{
	json_object *spread, *list;

	if (!json_object_object_get_ex(row, "spread", &spread) ||
	    !json_object_object_get_ex(spread, name, &list))
		die("a row lacks", name);
	return json_object_get_double(json_object_array_get_idx(list, i));
}

/* What the ratio was to be, if it is not. */
static void verdict(json_object *row, char *out, size_t size)
{
	json_object *target, *v;
	double ratio = number(row, "ratio");

	out[0] = '\0';
	if (!json_object_object_get_ex(row, "target", &target))
		return;
	if (json_object_object_get_ex(target, "most", &v) && ratio > json_object_get_double(v))
		snprintf(out, size, "; target missed: at most %.2f", json_object_get_double(v));
	else if (json_object_object_get_ex(target, "least", &v) &&
		 ratio < json_object_get_double(v))
		snprintf(out, size, "; target missed: at least %.2f", json_object_get_double(v));
}

static void print_rows(json_object *rows)
{
	printf("\n%-38s %5s %4s %-8s %8s %8s  %s\n", "", "MTU", "MiB", "", "ours", "other",
	       "ours / other (of single rounds); better");
	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		json_object *row = json_object_array_get_idx(rows, i);
		const char *unit = text(row, "unit");
		char missed[64];

		if (*text(row, "absent")) {
			printf("%-38s %5.0f %4s not measured: %s\n", text(row, "name"),
			       number(row, "mtu"), text(row, "region_mib"), text(row, "absent"));
			continue;
		}
		verdict(row, missed, sizeof(missed));
		printf("%-38s %5.0f %4s %-8s %8.3f %8.3f  %.2f (%.2f..%.2f); %s%s\n",
		       text(row, "name"), number(row, "mtu"), text(row, "region_mib"), unit,
		       number(row, "ours"), number(row, "other"), number(row, "ratio"),
		       member(row, "ratio", 0), member(row, "ratio", 1),
		       strstr(unit, "/s") ? "higher" : "lower", missed);
	}
}

int main(int argc, char **argv)
{
	json_object *rows = json_object_new_array();

	if (argc < 5) {
		fprintf(stderr, "usage: bench_report TARGETS RUNS ROWS... OUT\n");
		return 2;
	}
	read_runs(argv[2]);
	add_wire_rows(rows);
	for (int i = 3; i < argc - 1; i++)
		add_other_rows(rows, argv[i]);
	set_targets(rows, argv[1]);
	for (int m = 0; m < nscenes; m++)
		print_series(&scenes[m]);
	print_rows(rows);
	if (json_object_to_file_ext(argv[argc - 1], rows,
				    JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE))
		die(argv[argc - 1], "cannot be written");
	json_object_put(rows);
	return 0;
}
