// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Programs that the kernel runs on an interface's egress by tcx (Linux 6.6), as other tools attach them.
 *
 *   tcx list IF                     their names, in the order in which they run
 *   tcx first|last IF PROGRAM       attaches a pinned program in front of, or behind, all others
 *   tcx off IF PROGRAM              detaches it
 */
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>

#include "tests/net/lib/common.h"

#define EGRESS ((enum bpf_attach_type)47) /* BPF_TCX_EGRESS */
#define FIRST (1u << 3)			  /* BPF_F_BEFORE */
#define LAST (1u << 4)			  /* BPF_F_AFTER */
#define MOST 64

static int list(int ifindex)
{
	uint32_t ids[MOST], n = MOST;

	if (bpf_prog_query(ifindex, EGRESS, 0, NULL, ids, &n))
		return 1;
	for (uint32_t i = 0; i < n; i++) {
		struct bpf_prog_info info = {};
		uint32_t len = sizeof(info);
		int fd = bpf_prog_get_fd_by_id(ids[i]);

		if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &len))
			puts(info.name);
		if (fd >= 0)
			close(fd);
	}
	return 0;
}

int main(int argc, char **argv)
{
	int ifindex = argc > 2 ? (int)if_nametoindex(argv[2]) : 0, fd, err;

	if (!ifindex)
		return 2;
	if (!strcmp(argv[1], "list"))
		return list(ifindex);
	fd = argc > 3 ? bpf_obj_get(argv[3]) : -1;
	if (fd < 0)
		die("%s: %s", argc > 3 ? argv[3] : "no program", strerror(errno));
	if (!strcmp(argv[1], "off"))
		err = bpf_prog_detach2(fd, ifindex, EGRESS);
	else
		err = bpf_prog_attach(fd, ifindex, EGRESS, strcmp(argv[1], "first") ? LAST : FIRST);
	if (err)
		die("%s %s: %s", argv[1], argv[2], strerror(errno));
	return 0;
}
