/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reports as JSON: members are added by type, and a report is one line. */
#ifndef XIW_TOOL_JSON_H
#define XIW_TOOL_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <json-c/json.h>

void xiw_json_u64(struct json_object *o, const char *key, uint64_t value);
void xiw_json_bool(struct json_object *o, const char *key, bool value);
void xiw_json_f(struct json_object *o, const char *key, double value, const char *fmt);
/* Octets of `value` that are not UTF-8 become question marks. NULL is an empty string. */
void xiw_json_str(struct json_object *o, const char *key, const char *value);
/* As hexadecimal text. */
void xiw_json_hex(struct json_object *o, const char *key, const uint8_t *data, size_t len);
/* Prints one line and frees. */
void xiw_json_print(struct json_object *o);

#endif
