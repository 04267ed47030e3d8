/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Measures what it costs to verify and place a payload: xiw_crc32c_place() compared with memcpy() followed by ISA-L's
 * crc32_iscsi(). One thread, no network. The two are timed alternately in one run, with a ratio for each round.
 */

#include <isa-l/crc.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <time.h>

#include "crc32c/crc32c.h"

#define ROUNDS 41		/* many short ones: a busy machine spoils only some */
#define COLD_AREA (256ul << 20) /* size of the destination; the source is larger */
#define COLD_SLOTS(len) (COLD_AREA / (len) + 1)
#define HOT_SLOTS 8
#define ETH_IP_TCP 66 /* headers in front of the first FPDU of a frame, with timestamps */

/* One kind of run: where the payloads are, and how many are timed together. */
struct scene {
	const char *name;
	int mtu;
	size_t len;	   /* octets per payload */
	size_t src_stride; /* one frame each */
	size_t dst_stride; /* consecutive in the application's buffer */
	size_t slots;
	size_t batch; /* payloads timed together */
	bool cold;
};

struct areas {
	uint8_t *src, *dst;
	uint32_t *order;
	size_t next;
};

struct result {
	double ours[ROUNDS], other[ROUNDS], ratio[ROUNDS];
};

static uint32_t (*place)(uint32_t crc, void *dst, const void *src, size_t len) = xiw_crc32c_place;
static const char *place_name;

static uint32_t place_other(uint32_t crc, void *dst, const void *src, size_t len)
{
	memcpy(dst, src, len);
	return ~crc32_iscsi((unsigned char *)src, len, ~crc);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static void *map(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	return p;
}

/* Every slot once, in an order that no prefetcher predicts. */
static void shuffle(uint32_t *order, size_t n)
{
	uint32_t s = 0x9e3779b9;

	for (size_t i = 0; i < n; i++)
		order[i] = i;
	for (size_t i = n - 1; i > 0; i--) {
		size_t j;
		uint32_t t;

		s ^= s << 13;
		s ^= s >> 17;
		s ^= s << 5;
		j = s % (i + 1);
		t = order[i];
		order[i] = order[j];
		order[j] = t;
	}
}

static const struct scene scenes[] = {
	{ "place_verify_hot", 1500, 1428, 2048, 1428, HOT_SLOTS, 20000, false },
	{ "place_verify_cold", 1500, 1428, 2048, 1428, COLD_SLOTS(1428), 8192, true },
	{ "place_verify_hot", 9000, 8928, 9216, 8928, HOT_SLOTS, 4000, false },
	{ "place_verify_cold", 9000, 8928, 9216, 8928, COLD_SLOTS(8928), 1400, true },
};

#define NR_SCENES (sizeof(scenes) / sizeof(scenes[0]))

/* Memory that all kinds of runs share; each page is touched. */
static struct areas make_areas(void)
{
	size_t src_len = 0, dst_len = 0, slots = 0;
	struct areas a = { 0 };

	for (size_t i = 0; i < NR_SCENES; i++) {
		const struct scene *s = &scenes[i];

		src_len = MAX(src_len, s->slots * s->src_stride + ETH_IP_TCP);
		dst_len = MAX(dst_len, s->slots * s->dst_stride);
		slots = MAX(slots, s->slots);
	}
	a.src = map(src_len);
	a.dst = map(dst_len);
	a.order = map(slots * sizeof(*a.order));
	for (size_t i = 0; i + 8 <= src_len; i += 8) {
		uint64_t v = i * 0x9e3779b97f4a7c15ull;

		memcpy(a.src + i, &v, 8);
	}
	memset(a.dst, 1, dst_len);
	return a;
}

static double time_batch(const struct scene *s, struct areas *a, bool ours, uint32_t *sum)
{
	size_t next = a->next;
	uint64_t start = now_ns();

	for (size_t i = 0; i < s->batch; i++) {
		uint32_t slot = a->order[next];
		uint8_t *dst = a->dst + slot * s->dst_stride;
		const uint8_t *src = a->src + slot * s->src_stride + ETH_IP_TCP;

		*sum ^= ours ? place(0, dst, src, s->len) : place_other(0, dst, src, s->len);
		next = next + 1 < s->slots ? next + 1 : 0;
	}
	a->next = next;
	return (double)(now_ns() - start) / (s->batch * s->len);
}

/* Both sides must have computed the same, or the figures mean nothing. */
static void check(const struct scene *s, const struct areas *a)
{
	const uint8_t *src = a->src + ETH_IP_TCP;
	uint8_t *dst = a->dst;

	if (place(0, dst, src, s->len) != place_other(0, dst + s->dst_stride, src, s->len) ||
	    memcmp(dst, src, s->len) || memcmp(dst + s->dst_stride, src, s->len)) {
		fprintf(stderr, "%s: the two sides disagree\n", s->name);
		exit(1);
	}
}

static void run(const struct scene *s, struct areas *a, struct result *r)
{
	static volatile uint32_t sink;
	uint32_t sum = 0;

	check(s, a);
	shuffle(a->order, s->slots);
	a->next = 0;
	time_batch(s, a, true, &sum);
	time_batch(s, a, false, &sum);
	for (int i = 0; i < ROUNDS; i++) {
		/* Alternately, and each one first equally often. */
		if (i & 1) {
			r->other[i] = time_batch(s, a, false, &sum);
			r->ours[i] = time_batch(s, a, true, &sum);
		} else {
			r->ours[i] = time_batch(s, a, true, &sum);
			r->other[i] = time_batch(s, a, false, &sum);
		}
		r->ratio[i] = r->ours[i] / r->other[i];
	}
	sink = sum;
	(void)sink;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void sort(struct result *r)
{
	qsort(r->ours, ROUNDS, sizeof(double), by_value);
	qsort(r->other, ROUNDS, sizeof(double), by_value);
	qsort(r->ratio, ROUNDS, sizeof(double), by_value);
}

static json_object *range(const double *sorted)
{
	json_object *o = json_object_new_array();

	json_object_array_add(o, json_object_new_double(sorted[0]));
	json_object_array_add(o, json_object_new_double(sorted[ROUNDS - 1]));
	return o;
}

static json_object *row(const struct scene *s, const struct result *r)
{
	json_object *o = json_object_new_object(), *spread = json_object_new_object();
	char included[256];

	snprintf(included, sizeof(included),
		 "copy and CRC32c of one %zu-octet payload, %s; "
		 "ours %s, other memcpy + ISA-L crc32_iscsi; ratio is ours / other",
		 s->len,
		 s->cold ? "source and destination out of cache"
			 : "source and destination in L1/L2",
		 place_name);
	json_object_object_add(spread, "ours", range(r->ours));
	json_object_object_add(spread, "other", range(r->other));
	json_object_object_add(spread, "ratio", range(r->ratio));
	json_object_object_add(o, "name", json_object_new_string(s->name));
	json_object_object_add(o, "mtu", json_object_new_int(s->mtu));
	json_object_object_add(o, "region_mib", json_object_new_int(0));
	json_object_object_add(o, "unit", json_object_new_string("ns/octet"));
	json_object_object_add(o, "ours", json_object_new_double(r->ours[ROUNDS / 2]));
	json_object_object_add(o, "other", json_object_new_double(r->other[ROUNDS / 2]));
	json_object_object_add(o, "ratio", json_object_new_double(r->ratio[ROUNDS / 2]));
	json_object_object_add(o, "spread", spread);
	json_object_object_add(o, "runs", json_object_new_int(ROUNDS));
	json_object_object_add(o, "included", json_object_new_string(included));
	return o;
}

static void print_row(const struct scene *s, const struct result *r)
{
	int m = ROUNDS / 2, z = ROUNDS - 1;

	printf("%-18s %5d  %.4f (%.4f..%.4f)  %.4f (%.4f..%.4f)  %.2f (%.2f..%.2f)\n", s->name,
	       s->mtu, r->ours[m], r->ours[0], r->ours[z], r->other[m], r->other[0], r->other[z],
	       r->ratio[m], r->ratio[0], r->ratio[z]);
}

/* --impl NAME measures another implementation than this CPU would choose. */
static void choose(const char *name)
{
	for (size_t i = 0; i < xiw_crc32c_table_len; i++) {
		const struct xiw_crc32c_ops *ops = &xiw_crc32c_table[i];

		if (strcmp(ops->name, name) == 0 && ops->supported()) {
			place = ops->place;
			place_name = ops->name;
			return;
		}
	}
	fprintf(stderr, "%s: unknown implementation, or not for this CPU\n", name);
	exit(2);
}

int main(int argc, char **argv)
{
	json_object *rows = json_object_new_array();
	struct areas areas;
	bool json = false;

	place_name = xiw_crc32c_impl();
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--json") == 0) {
			json = true;
		} else if (strcmp(argv[i], "--impl") == 0 && i + 1 < argc) {
			choose(argv[++i]);
		} else {
			fprintf(stderr, "usage: %s [--json] [--impl NAME]\n", argv[0]);
			return 2;
		}
	}
	areas = make_areas();
	if (!json)
		printf("%s against memcpy + ISA-L crc32_iscsi, ns/octet, median (min..max) of %d\n"
		       "%-18s %5s  %-24s  %-24s  %s\n",
		       place_name, ROUNDS, "", "mtu", "ours", "other", "ours / other");
	for (size_t i = 0; i < NR_SCENES; i++) {
		struct result r;

		run(&scenes[i], &areas, &r);
		sort(&r);
		if (json)
			json_object_array_add(rows, row(&scenes[i], &r));
		else
			print_row(&scenes[i], &r);
	}
	if (json)
		puts(json_object_to_json_string_ext(rows, JSON_C_TO_STRING_PRETTY |
								  JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(rows);
	return 0;
}
