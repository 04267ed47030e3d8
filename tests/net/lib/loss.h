/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_TESTS_NET_LOSS_H
#define XIW_TESTS_NET_LOSS_H

#include <stdint.h>

struct xiw_engine;

uint64_t loss_of_rings(const struct xiw_engine *engine);
uint64_t loss_of_backlogs(void);
uint64_t loss_of_link(const char *ifname);

#endif
