// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * bench_rows - makes rows of the report of what single rounds have measured.
 *
 * Reads lines of NAME MTU REGION_MIB UNIT OURS OTHER INCLUDED, each with what one round measured; INCLUDED takes the
 * rest of the line. Lines with the same NAME and MTU become one row. Writes the rows as a list in JSON.
 */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/summary.h"

#define ROUNDS_MAX 101
#define ROWS_MAX 64

struct row {
	char name[64], unit[16], included[1024];
	int mtu, region_mib, n;
	double ours[ROUNDS_MAX], other[ROUNDS_MAX], ratio[ROUNDS_MAX];
};

static struct row rows[ROWS_MAX];
static int nrows;

static void __attribute__((noreturn)) die(const char *what, const char *why)
{
	fprintf(stderr, "bench_rows: %s: %s\n", what, why);
	exit(1);
}

/* The row of the same name and MTU, or a new one. */
static struct row *row_of(const struct row *line)
{
	int i = 0;

	while (i < nrows && (strcmp(rows[i].name, line->name) || rows[i].mtu != line->mtu))
		i++;
	if (i == ROWS_MAX)
		die(line->name, "too many rows");
	if (i == nrows)
		rows[nrows++] = *line;
	return &rows[i];
}

static void read_lines(void)
{
	struct row line = { 0 }, *row;
	double ours, other;
	char text[2048];

	while (fgets(text, sizeof(text), stdin)) {
		if (sscanf(text, "%63s %d %d %15s %lf %lf %1023[^\n]", line.name, &line.mtu,
			   &line.region_mib, line.unit, &ours, &other, line.included) != 7)
			die("not a round", text);
		row = row_of(&line);
		if (row->n == ROUNDS_MAX)
			die(row->name, "too many rounds");
		row->ours[row->n] = ours;
		row->other[row->n] = other;
		row->ratio[row->n++] = ours / other;
	}
}

static json_object *row_object(struct row *r)
{
	json_object *o = json_object_new_object(), *spread = json_object_new_object();
	double ours = summarize(r->ours, r->n, "ours", spread);
	double other = summarize(r->other, r->n, "other", spread);
	double ratio = summarize(r->ratio, r->n, "ratio", spread);

	json_object_object_add(o, "name", json_object_new_string(r->name));
	json_object_object_add(o, "mtu", json_object_new_int(r->mtu));
	json_object_object_add(o, "region_mib", json_object_new_int(r->region_mib));
	json_object_object_add(o, "unit", json_object_new_string(r->unit));
	json_object_object_add(o, "ours", json_object_new_double(ours));
	json_object_object_add(o, "other", json_object_new_double(other));
	json_object_object_add(o, "ratio", json_object_new_double(ratio));
	json_object_object_add(o, "spread", spread);
	json_object_object_add(o, "runs", json_object_new_int(r->n));
	json_object_object_add(o, "included", json_object_new_string(r->included));
	return o;
}

int main(void)
{
	json_object *list = json_object_new_array();

	read_lines();
	for (int i = 0; i < nrows; i++)
		json_object_array_add(list, row_object(&rows[i]));
	puts(json_object_to_json_string_ext(list, JSON_C_TO_STRING_PRETTY |
							  JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(list);
	return 0;
}
