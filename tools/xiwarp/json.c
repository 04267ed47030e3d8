// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

void xiw_json_u64(struct json_object *o, const char *key, uint64_t value)
{
	json_object_object_add(o, key, json_object_new_uint64(value));
}

void xiw_json_bool(struct json_object *o, const char *key, bool value)
{
	json_object_object_add(o, key, json_object_new_boolean(value));
}

void xiw_json_f(struct json_object *o, const char *key, double value, const char *fmt)
{
	char text[64];

	snprintf(text, sizeof(text), fmt, value);
	json_object_object_add(o, key, json_object_new_double_s(value, text));
}

void xiw_json_str(struct json_object *o, const char *key, const char *value)
{
	char *text = strdup(value ? value : "");
	uint32_t code;
	size_t n;

	/* JSON is UTF-8 (RFC 8259 section 8.1), but a file's name may be any octets. json-c escapes the rest. */
	for (char *s = text; s && *s; s += n ? n : 1) {
		n = xiw_utf8(s, &code);
		if (!n)
			*s = '?';
	}
	json_object_object_add(o, key, json_object_new_string(text ? text : ""));
	free(text);
}

void xiw_json_hex(struct json_object *o, const char *key, const uint8_t *data, size_t len)
{
	char *text = malloc(2 * len + 1);

	if (text)
		xiw_hex(data, len, text);
	xiw_json_str(o, key, text);
	free(text);
}

void xiw_json_print(struct json_object *o)
{
	puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_NOSLASHESCAPE));
	fflush(stdout);
	json_object_put(o);
}
