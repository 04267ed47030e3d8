// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * ecn - registers a congestion control written in BPF (ecn.bpf.c) for as long as it runs.
 *
 *   ecn OBJECT
 *
 * Prints "ready". Exit codes: 0 SIGTERM came, 1 the kernel does not support that, 2 usage.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	struct bpf_object *o;
	struct bpf_link *link;
	struct bpf_map *map;
	sigset_t term;
	int sig;

	if (argc != 2)
		return 2;
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	o = bpf_object__open_file(argv[1], NULL);
	if (!o || bpf_object__load(o)) {
		fprintf(stderr, "ecn: %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	map = bpf_object__find_map_by_name(o, "dctcp");
	link = map ? bpf_map__attach_struct_ops(map) : NULL;
	if (!link) {
		fprintf(stderr, "ecn: %s\n", strerror(errno));
		return 1;
	}
	puts("ready");
	fflush(stdout);
	sigwait(&term, &sig);
	bpf_link__destroy(link); /* sockets that have it keep it */
	bpf_object__close(o);
	return 0;
}
