/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_NETIF_SYSCTL_H
#define XIW_NETIF_SYSCTL_H

/*
 * Returns the number that the file under /proc/sys/net/ has, in this network namespace; 0: it is negative, or there
 * is no such file. Takes no memory from the heap, as engines ask while data come.
 */
unsigned long xiw_sysctl_net(const char *path);

#endif
