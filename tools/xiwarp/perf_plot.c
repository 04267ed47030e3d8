// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A picture of the runs of `xiwarp perf`, as SVG 1.1: throughput by interval, or the distribution of the round trips
 * with a logarithmic axis. Each run is a line of its own.
 */
#include <math.h>
#include <stdio.h>

#include "perf.h"
#include "text.h"

#define WIDTH 800
#define HEIGHT 420
#define LEFT 70
#define RIGHT 150 /* the names of the lines are there */
#define TOP 40
#define BOTTOM 50
#define TICKS 5

struct axis {
	double from, to;
	bool logarithmic;
};

static const char *const colours[] = { "#1f77b4", "#d62728", "#2ca02c", "#9467bd",
				       "#ff7f0e", "#17becf", "#8c564b", "#7f7f7f" };

static double part(const struct axis *a, double value)
{
	if (a->logarithmic)
		return log(value / a->from) / log(a->to / a->from);
	return (value - a->from) / (a->to - a->from);
}

static double at(const struct axis *a, double share)
{
	return a->logarithmic ? a->from * pow(a->to / a->from, share)
			      : a->from + (a->to - a->from) * share;
}

static double x_of(const struct axis *a, double value)
{
	return LEFT + part(a, value) * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct axis *a, double value)
{
	return HEIGHT - BOTTOM - part(a, value) * (HEIGHT - TOP - BOTTOM);
}

static void head(FILE *f, const struct xiw_perf_test *t)
{
	fprintf(f,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%d\" "
		"height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n"
		"<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n"
		"<text x=\"%d\" y=\"22\" font-size=\"15\">xiwarp perf: %s%s, %u connection%s, "
		"depth %u</text>\n",
		WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT, xiw_perf_op_name(t->params.op),
		t->params.both ? " in both directions" : "", t->params.connections,
		t->params.connections == 1 ? "" : "s", t->params.depth);
}

static void axes(FILE *f, const struct axis *x, const char *x_name, const struct axis *y,
		 const char *y_name)
{
	for (int i = 0; i <= TICKS; i++) {
		const double share = (double)i / TICKS;
		const double px = x_of(x, at(x, share)), py = y_of(y, at(y, share));

		fprintf(f,
			"<path d=\"M%.1f %d V%d M%d %.1f H%d\" stroke=\"#ddd\"/>\n"
			"<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.3g</text>\n"
			"<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.3g</text>\n",
			px, TOP, HEIGHT - BOTTOM, LEFT, py, WIDTH - RIGHT, px, HEIGHT - BOTTOM + 18,
			at(x, share), LEFT - 6, py + 4, at(y, share));
	}
	fprintf(f,
		"<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n"
		"<text x=\"16\" y=\"%d\" text-anchor=\"middle\" transform=\"rotate(-90 16 %d)\">%s"
		"</text>\n",
		(LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, x_name, (TOP + HEIGHT - BOTTOM) / 2,
		(TOP + HEIGHT - BOTTOM) / 2, y_name);
}

static void begin_line(FILE *f, unsigned int i, uint32_t size)
{
	const char *colour = colours[i % (sizeof(colours) / sizeof(colours[0]))];
	char text[32];

	fprintf(f,
		"<text x=\"%d\" y=\"%u\" fill=\"%s\">%s</text>\n"
		"<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" points=\"",
		WIDTH - RIGHT + 10, TOP + 12 + 16 * (i % 20), colour, xiw_octets(size, text),
		colour);
}

/* ---- throughput ---------------------------------------------------------------------------------- */

static double gbit(const struct xiw_perf_result *r, unsigned int i)
{
	const struct xiw_perf_sample zero = {};
	const struct xiw_perf_sample *from = i ? &r->samples[i - 1] : &zero;

	return xiw_gbit_per_s((r->samples[i].messages - from->messages) * r->size,
			      r->samples[i].seconds - from->seconds);
}

static void throughput(FILE *f, const struct xiw_perf_result *runs, unsigned int n)
{
	struct axis x = { .to = 1e-3 }, y = { .to = 1e-6 };

	for (unsigned int i = 0; i < n; i++) {
		for (unsigned int k = 0; k < runs[i].nsamples; k++) {
			x.to = fmax(x.to, runs[i].samples[k].seconds);
			y.to = fmax(y.to, gbit(&runs[i], k) * 1.05);
		}
	}
	axes(f, &x, "seconds", &y, "Gbit/s");
	for (unsigned int i = 0; i < n; i++) {
		begin_line(f, i, runs[i].size);
		for (unsigned int k = 0; k < runs[i].nsamples; k++)
			fprintf(f, "%s%.1f,%.1f", k ? " " : "",
				x_of(&x, runs[i].samples[k].seconds), y_of(&y, gbit(&runs[i], k)));
		fputs("\"/>\n", f);
	}
}

/* ---- round trips --------------------------------------------------------------------------------- */

static void distribution(FILE *f, const struct xiw_perf_result *runs, unsigned int n)
{
	struct axis x = { .from = 1e9, .to = 1e-3, .logarithmic = true }, y = { .to = 100 };

	for (unsigned int i = 0; i < n; i++) {
		x.from = fmin(x.from, (double)runs[i].hist->least / 1e3);
		x.to = fmax(x.to, (double)runs[i].hist->most / 1e3);
	}
	x.from = fmax(x.from, 1e-3);
	x.to = fmax(x.to, x.from * 1.1);
	axes(f, &x, "round trip in microseconds", &y, "% of round trips up to that");
	for (unsigned int i = 0; i < n; i++) {
		const struct xiw_hist *h = runs[i].hist;
		uint64_t seen = 0;

		begin_line(f, i, runs[i].size);
		for (unsigned int b = 0; b < XIW_HIST_BUCKETS; b++) {
			double us = fmin((double)xiw_hist_upper(b), (double)h->most) / 1e3;

			if (!h->buckets[b])
				continue;
			fprintf(f, "%s%.1f,%.1f", seen ? " " : "", x_of(&x, fmax(us, x.from)),
				y_of(&y, 100 * (double)(seen + h->buckets[b]) / (double)h->count));
			seen += h->buckets[b];
		}
		fputs("\"/>\n", f);
	}
}

bool xiw_perf_plot(FILE *f, const struct xiw_perf_test *t, const struct xiw_perf_result *runs,
		   unsigned int n)
{
	head(f, t);
	if (t->params.latency)
		distribution(f, runs, n);
	else
		throughput(f, runs, n);
	fputs("</svg>\n", f);
	return !fflush(f) && !ferror(f);
}
