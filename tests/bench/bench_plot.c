// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * bench_plot REPORT OUT - draws the ratios of a report as SVG 1.1. Each row of the report is a line: a point is the
 * median, a bar the spread, and a mark the target. The axis is logarithmic, and 1 is where both sides are equal. Rows
 * with targets come first.
 */
#include <json-c/json.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/param.h>

#define WIDTH 1240
#define LEFT 470  /* the names are there */
#define RIGHT 370 /* the figures are there */
#define TOP 92
#define LINE 18
#define ROWS_MAX 512

struct row {
	const char *name, *unit, *absent;
	int mtu, region_mib;
	double ours, other, ratio, from, to;
	double target; /* 0: none */
	bool least;    /* the target is the least ratio that is good */
};

static struct row rows[ROWS_MAX];
static int nrows;
static double lowest = 0.5, highest = 2;

static void __attribute__((noreturn)) die(const char *what, const char *why)
{
	fprintf(stderr, "bench_plot: %s: %s\n", what, why);
	exit(1);
}

static double number(json_object *o, const char *key)
{
	json_object *v;

	return json_object_object_get_ex(o, key, &v) ? json_object_get_double(v) : 0;
}

static const char *text(json_object *o, const char *key)
{
	json_object *v;

	return json_object_object_get_ex(o, key, &v) ? json_object_get_string(v) : NULL;
}

static void read_row(json_object *o)
{
	struct row *r = &rows[nrows];
	json_object *v, *list;

	if (nrows == ROWS_MAX)
		die(text(o, "name"), "too many rows");
	*r = (struct row){
		.name = text(o, "name"),
		.unit = text(o, "unit"),
		.absent = text(o, "absent"),
		.mtu = (int)number(o, "mtu"),
		.region_mib = (int)number(o, "region_mib"),
		.ours = number(o, "ours"),
		.other = number(o, "other"),
		.ratio = number(o, "ratio"),
	};
	r->from = r->to = r->ratio;
	if (json_object_object_get_ex(o, "spread", &v) &&
	    json_object_object_get_ex(v, "ratio", &list)) {
		r->from = json_object_get_double(json_object_array_get_idx(list, 0));
		r->to = json_object_get_double(json_object_array_get_idx(list, 1));
	}
	if (json_object_object_get_ex(o, "target", &v)) {
		r->least = json_object_object_get_ex(v, "least", NULL);
		r->target = number(v, r->least ? "least" : "most");
	}
	if (!r->name || !r->unit || (!r->absent && r->ratio <= 0))
		die("report", "a row lacks its name or its ratio");
	nrows++;
	if (!r->absent) {
		lowest = MIN(lowest, r->ratio);
		highest = MAX(highest, r->ratio);
	}
}

/* A spread may reach beyond the picture. */
static double x_of(double ratio)
{
	double part = log(ratio / lowest) / log(highest / lowest);

	return LEFT + MIN(MAX(part, 0), 1) * (WIDTH - LEFT - RIGHT);
}

static void print_text(FILE *f, const char *s)
{
	for (; *s; s++)
		switch (*s) {
		case '<':
			fputs("&lt;", f);
			break;
		case '&':
			fputs("&amp;", f);
			break;
		default:
			fputc(*s, f);
		}
}

static void head(FILE *f, int height)
{
	static const double ticks[] = { 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1,  1.4,
					2,    3,    5,	  10,  20,  50,	 100, 200, 500 };

	fprintf(f,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%d\" "
		"height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n"
		"<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n"
		"<text x=\"12\" y=\"24\" font-size=\"16\">xiwarp's bench: ours / other</text>\n"
		"<text x=\"12\" y=\"44\">A point is the median of the rounds, its bar their "
		"spread. "
		"A triangle is a target, and points to where ratios are good.</text>\n"
		"<text x=\"12\" y=\"60\"><tspan fill=\"#2ca02c\">Green: reached.</tspan> "
		"<tspan fill=\"#d62728\">Red: missed.</tspan> "
		"<tspan fill=\"#1f77b4\">Blue: no target.</tspan></text>\n",
		WIDTH, height, WIDTH, height);
	for (size_t i = 0; i < sizeof(ticks) / sizeof(ticks[0]); i++)
		if (ticks[i] >= lowest && ticks[i] <= highest)
			fprintf(f,
				"<path d=\"M%.1f %d V%d\" stroke=\"%s\"/>\n"
				"<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n",
				x_of(ticks[i]), TOP - 8, height - 12,
				ticks[i] == 1 ? "#444" : "#ddd", x_of(ticks[i]), TOP - 12,
				ticks[i]);
	fprintf(f, "<text x=\"%d\" y=\"%d\">ratio: ours, other</text>\n", WIDTH - RIGHT + 12,
		TOP - 12);
}

static void label(FILE *f, const struct row *r, int y)
{
	fprintf(f, "<text x=\"12\" y=\"%d\">", y + 4);
	print_text(f, r->name);
	fprintf(f, "</text>\n<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%d", LEFT - 68, y + 4,
		r->mtu);
	fprintf(f, "</text>\n<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", LEFT - 12, y + 4);
	if (r->region_mib)
		fprintf(f, "%d MiB", r->region_mib);
	fputs("</text>\n", f);
}

static void figures(FILE *f, const struct row *r, int y)
{
	const char *colour = "#1f77b4";
	const double x = x_of(r->ratio);
	const int way = r->least ? 1 : -1;

	if (r->target)
		colour = (r->least ? r->ratio >= r->target : r->ratio <= r->target) ? "#2ca02c"
										    : "#d62728";
	fprintf(f,
		"<path d=\"M%.1f %d H%.1f\" stroke=\"%s\" stroke-width=\"5\" "
		"stroke-opacity=\"0.35\"/>\n"
		"<circle cx=\"%.1f\" cy=\"%d\" r=\"4\" fill=\"%s\"/>\n",
		x_of(r->from), y, x_of(r->to), colour, x, y, colour);
	if (r->target)
		fprintf(f, "<path d=\"M%.1f %d v14 l%d -7 z\" fill=\"#222\"/>\n", x_of(r->target),
			y - 7, 8 * way);
	fprintf(f, "<text x=\"%d\" y=\"%d\" fill=\"%s\">%.2f</text>\n", WIDTH - RIGHT + 12, y + 4,
		colour, r->ratio);
	fprintf(f, "<text x=\"%d\" y=\"%d\">%.4g, %.4g %s", WIDTH - RIGHT + 54, y + 4, r->ours,
		r->other, r->unit);
	if (r->target)
		fprintf(f, "; at %s %.2f", r->least ? "least" : "most", r->target);
	fputs("</text>\n", f);
}

static void draw(FILE *f)
{
	int y = TOP + LINE / 2, height = TOP + (nrows + 1) * LINE + 12;

	head(f, height);
	for (int pass = 0; pass < 2; pass++) {
		for (int i = 0; i < nrows; i++) {
			const struct row *r = &rows[i];

			if ((r->target == 0) != pass)
				continue;
			label(f, r, y);
			if (r->absent) {
				fprintf(f, "<text x=\"%d\" y=\"%d\" fill=\"#777\">", LEFT, y + 4);
				print_text(f, r->absent);
				fputs("</text>\n", f);
			} else {
				figures(f, r, y);
			}
			y += LINE;
		}
		y += pass ? 0 : LINE;
	}
	fputs("</svg>\n", f);
}

int main(int argc, char **argv)
{
	json_object *report;
	FILE *f;

	if (argc != 3) {
		fprintf(stderr, "usage: bench_plot REPORT OUT\n");
		return 2;
	}
	report = json_object_from_file(argv[1]);
	if (!json_object_is_type(report, json_type_array))
		die(argv[1], "not a list of rows");
	for (size_t i = 0; i < json_object_array_length(report); i++)
		read_row(json_object_array_get_idx(report, i));
	lowest /= 1.1;
	highest *= 1.1;
	f = fopen(argv[2], "w");
	if (!f)
		die(argv[2], "cannot be written");
	draw(f);
	if (fclose(f))
		die(argv[2], "cannot be written");
	json_object_put(report);
	return 0;
}
