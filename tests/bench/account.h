/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a run has cost one end of a wire: the CPU time of its process and of its interface's NAPI thread. */
#ifndef XIW_BENCH_ACCOUNT_H
#define XIW_BENCH_ACCOUNT_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/bench/clocks.h"

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

#endif
