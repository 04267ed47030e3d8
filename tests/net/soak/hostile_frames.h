/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Forged frames, which hostile_peer.c sends beside its connections. */
#ifndef XIW_TESTS_NET_HOSTILE_FRAMES_H
#define XIW_TESTS_NET_HOSTILE_FRAMES_H

#include "tests/net/lib/common.h"

/* Sends frames to `mac` by a packet socket for ever. */
void __attribute__((noreturn)) send_frames(const char *interface, const uint8_t mac[6],
					   const struct sockaddr_in *target, uint64_t seed);

#endif
