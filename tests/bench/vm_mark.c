// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * For the VM of `make bench-vm`.
 *
 *   vm_mark begin|end   makes a mark (marker.h), for a receiver that cannot make it itself
 *   vm_mark libc        where the functions of libc are that loop over octets on this CPU: `OFFSET T NAME`, like nm, as
 *                       the library's own table does not name them
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/bench/marker.h"

static void print_place(const char *name, uintptr_t at)
{
	Dl_info info;

	if (dladdr((void *)at, &info))
		printf("%016" PRIxPTR " T %s\n", at - (uintptr_t)info.dli_fbase, name);
}

int main(int argc, char **argv)
{
	const char *command = argc == 2 ? argv[1] : "";

	if (!strcmp(command, "begin")) {
		mark_begin();
	} else if (!strcmp(command, "end")) {
		mark_end();
	} else if (!strcmp(command, "libc")) {
		print_place("memcpy", (uintptr_t)memcpy);
		print_place("memmove", (uintptr_t)memmove);
		print_place("memset", (uintptr_t)memset);
		print_place("memcmp", (uintptr_t)memcmp);
	} else {
		fprintf(stderr, "usage: vm_mark begin|end|libc\n");
		return 2;
	}
	return 0;
}
