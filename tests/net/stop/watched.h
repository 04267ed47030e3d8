/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory that a peer may write to until a connection is ended, and never after that. */
#ifndef XIW_TESTS_NET_WATCHED_H
#define XIW_TESTS_NET_WATCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WATCHED 8192u /* octets: the first half is the region for Writes, the second for buffers */
#define BUFFERS 8u
#define BUFFER 256u

/* Octets of a mapping of its own, all 0. */
uint8_t *watched_new(void);

/* Has the peer written to it? Waits until it has. */
void watched_await(const uint8_t *memory);

/* The connections of `n` memories have been ended: the program uses them for something else. */
void watched_reuse(uint8_t *const *memory, unsigned int n);

/* Ends the program if any of it has changed since, within a while. */
void watched_check(uint8_t *const *memory, unsigned int n);

/* Whoever touches it after this dies. */
void watched_unmap(uint8_t *const *memory, unsigned int n);

/* The file is there: the script has come so far. */
void await_file(const char *path);

#endif
