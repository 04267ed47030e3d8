/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers, times and foreign strings as text for people. */
#ifndef XIW_TOOL_TEXT_H
#define XIW_TOOL_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/now.h"

/* "1.5 GiB". */
const char *xiw_octets(uint64_t n, char buf[32]);
/* "1.50 s", "12 us". */
const char *xiw_seconds(double s, char buf[32]);
/* "1.79 Gbit/s"; 0 if no time has passed. */
const char *xiw_rate(uint64_t octets, double s, char buf[32]);
double xiw_gbit_per_s(uint64_t octets, double s);
/* The octets of `data` in lower-case hexadecimal; `text` has room for 2 * len + 1. */
void xiw_hex(const uint8_t *data, size_t len, char *text);

/* Length of the UTF-8 sequence at `s` (RFC 3629 section 4), and its code point in `*code`; 0: invalid. */
size_t xiw_utf8(const char *s, uint32_t *code);
/*
 * Copies a string that came from the wire or the file system so that a terminal can show it: each control character and
 * each octet that is not UTF-8 becomes a question mark. Returns `buf`.
 */
const char *xiw_printable(const char *s, char *buf, size_t len);

#endif
