// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/net/lib/json.h"

void add(struct json_object *o, const char *key, uint64_t value)
{
	json_object_object_add(o, key, json_object_new_int64((int64_t)value));
}

void add_reasons(struct json_object *o, const struct xiw_conn_info *i)
{
	struct json_object *why = json_object_new_object(), *drops = json_object_new_object();

	for (unsigned int w = 1; w < XIW_REASON__COUNT; w++)
		if (i->reasons[w])
			add(why, xiw_reason_name(w), i->reasons[w]);
	for (unsigned int d = 0; xiw_drop_name(d); d++)
		if (i->drops[d])
			add(drops, xiw_drop_name(d), i->drops[d]);
	json_object_object_add(o, "why", why);
	json_object_object_add(o, "drops", drops);
}

void print_json(struct json_object *o)
{
	printf("%s\n", json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
	json_object_put(o);
}
