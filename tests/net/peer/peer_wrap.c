// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * `peer_wrap MSN COMMAND...`: the command `xiwarp`, but its queues begin with this MSN, so that it wraps soon (RFC 5041
 * section 4.3).
 */
int xiwarp_main(int argc, char **argv);
#define main xiwarp_main
#include "tools/xiwarp/main.c"
#undef main

#include "conn/conn.h"

int main(int argc, char **argv)
{
	if (argc < 2)
		return XIW_EXIT_USAGE;
	xiw_conn_first_msn = (uint32_t)strtoul(argv[1], NULL, 0);
	argv[1] = argv[0];
	return xiwarp_main(argc - 1, argv + 1);
}
