/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reports in JSON, one line each. */
#ifndef XIW_TESTS_NET_JSON_H
#define XIW_TESTS_NET_JSON_H

#include <json-c/json.h>
#include <stdio.h>

#include <xiwarp/xiwarp.h>

void add(struct json_object *o, const char *key, uint64_t value);

/* Why the connection changed its path, and what was dropped, without the counters that are 0. */
void add_reasons(struct json_object *o, const struct xiw_conn_info *i);

/* Prints and frees it. */
void print_json(struct json_object *o);

#endif
