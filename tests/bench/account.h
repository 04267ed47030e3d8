/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a run has cost one end of a wire: the CPU time of its process and of its interface's NAPI thread. */
#ifndef XIW_BENCH_ACCOUNT_H
#define XIW_BENCH_ACCOUNT_H

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/bench/clocks.h"
#include "tests/bench/marker.h"

/* The CPU time used so far. */
struct account {
	uint64_t ns, app_ns, napi_ns, octets, switches;
};

/* The schedstats of NAPI threads. */
struct napis {
	int fd[8], n;
};

/* Opens those of the threads `pid,pid...`. */
static inline struct napis napis_open(char *pids)
{
	struct napis t = { .n = 0 };
	char name[64];

	for (char *pid = strtok(pids, ","); pid; pid = strtok(NULL, ",")) {
		snprintf(name, sizeof(name), "/proc/%s/schedstat", pid);
		t.fd[t.n] = open(name, O_RDONLY | O_CLOEXEC);
		if (t.fd[t.n] < 0 || ++t.n == sizeof(t.fd) / sizeof(t.fd[0])) {
			fprintf(stderr, "%s: %s\n", name, strerror(errno));
			exit(1);
		}
	}
	return t;
}

static inline struct account account_now(const struct napis *napis, uint64_t octets)
{
	struct rusage usage;
	struct account a = { .octets = octets };

	getrusage(RUSAGE_SELF, &usage);
	a.switches = (uint64_t)(usage.ru_nvcsw + usage.ru_nivcsw);
	for (int i = 0; i < napis->n; i++)
		a.napi_ns += napi_ns(napis->fd[i]);
	a.app_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID); /* of all threads, with io_uring's workers */
	a.ns = clock_ns(CLOCK_MONOTONIC);
	return a;
}

/* What one end has cost between two moments, which it marks (marker.h). Nothing is read where `wanted` is false. */
struct costs {
	bool wanted;
	struct napis napis;
	struct account from, to;
};

/* For an end whose command line may end with the list of NAPI threads, or not: then `pids` is NULL. */
static inline struct costs costs_open(char *pids)
{
	struct costs c = { .wanted = pids };

	if (pids)
		c.napis = napis_open(pids);
	return c;
}

static inline void costs_begin(struct costs *c, uint64_t octets)
{
	if (!c->wanted)
		return;
	c->from = account_now(&c->napis, octets);
	mark_begin();
}

static inline void costs_end(struct costs *c, uint64_t octets)
{
	if (!c->wanted)
		return;
	mark_end();
	c->to = account_now(&c->napis, octets);
}

static inline void costs_print(const struct costs *c, double direct_share)
{
	printf("{ \"octets\": %" PRIu64 ", \"app_cpu_ns\": %" PRIu64 ", \"napi_cpu_ns\": %" PRIu64
	       ", \"switches\": %" PRIu64 ", \"direct_share\": %.6f }\n",
	       c->to.octets - c->from.octets, c->to.app_ns - c->from.app_ns,
	       c->to.napi_ns - c->from.napi_ns, c->to.switches - c->from.switches, direct_share);
}

#endif
