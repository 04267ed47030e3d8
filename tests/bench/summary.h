/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the rounds of a benchmark come to. */
#ifndef XIW_BENCH_SUMMARY_H
#define XIW_BENCH_SUMMARY_H

#include <json-c/json.h>
#include <stdlib.h>

static inline int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts the values. Adds the smallest and the largest as the spread, and returns the median. */
static inline double summarize(double *v, int n, const char *key, json_object *spread)
{
	json_object *range = json_object_new_array();

	qsort(v, (size_t)n, sizeof(*v), by_value);
	json_object_array_add(range, json_object_new_double(v[0]));
	json_object_array_add(range, json_object_new_double(v[n - 1]));
	json_object_object_add(spread, key, range);
	return (v[(n - 1) / 2] + v[n / 2]) / 2;
}

#endif
