// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The relay's options for one direction, and its report. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "relay_core.h"

#define DATA (1u << RELAY_DATA)
#define ACK (1u << RELAY_ACK)

const char *const relay_count_names[RELAY_COUNTS] = {
	[RELAY_LOSS] = "lost",
	[RELAY_DUP] = "duplicated",
	[RELAY_REORDER] = "reordered",
	[RELAY_CORRUPT] = "corrupted",
	[RELAY_CORRUPT_FIXED] = "corrupted_fixed",
	[RELAY_CORRUPT_HEADER] = "corrupted_header",
	[RELAY_SPLIT] = "split",
	[RELAY_MERGE] = "merged",
	[RELAY_SQUEEZE] = "squeezes",
	[RELAY_CE] = "ce_marked",
	[RELAY_CORRUPT_TSVAL] = "corrupted_tsval",
	[RELAY_N_PACKETS] = "packets",
	[RELAY_N_OCTETS] = "octets",
	[RELAY_N_SENT] = "sent",
	[RELAY_N_REORDER_TIMEOUT] = "reorder_timeouts",
	[RELAY_N_MERGE_TIMEOUT] = "merge_timeouts",
	[RELAY_N_PIECES] = "pieces",
	[RELAY_N_SQUEEZED] = "windows_squeezed",
	[RELAY_N_ZERO] = "windows_closed",
	[RELAY_N_REOPENED] = "windows_reopened",
};

/* What a key means, without "ack-". Values are P[:N[:MS]], P per cent. */
static const struct key {
	const char *name;
	enum relay_act act;
	unsigned int classes; /* with "ack-": only RELAY_ACK of these */
} keys[] = {
	{ "loss", RELAY_LOSS, DATA | ACK },
	{ "dup", RELAY_DUP, DATA | ACK },
	{ "reorder", RELAY_REORDER, DATA | ACK },
	{ "corrupt", RELAY_CORRUPT, DATA },
	{ "corrupt-fixed", RELAY_CORRUPT_FIXED, DATA },
	{ "corrupt-header", RELAY_CORRUPT_HEADER, DATA | ACK },
	{ "corrupt-tsval", RELAY_CORRUPT_TSVAL, DATA | ACK },
	{ "split", RELAY_SPLIT, DATA },
	{ "merge", RELAY_MERGE, DATA },
	{ "squeeze", RELAY_SQUEEZE, DATA | ACK },
	{ "ce", RELAY_CE, DATA | ACK },
};

void relay_conf_default(struct relay_conf *conf)
{
	memset(conf, 0, sizeof(*conf));
	conf->seed = 1;
	conf->mtu = 1500;
	conf->spare = 600;
	for (unsigned int d = 0; d < 2; d++)
		for (unsigned int c = 0; c < RELAY_CLASSES; c++)
			conf->knobs[d][c] = (struct relay_knobs){
				.reorder_by = 3,
				.reorder_ms = 5,
				.merge_n = 3,
				.merge_ms = 2,
				.squeeze_n = 16,
				.squeeze_ms = 20,
			};
}

static bool take_number(const char **p, double *v)
{
	char *end;

	*v = strtod(*p, &end);
	if (end == *p || *v < 0 || *v > 1e9)
		return false;
	*p = end;
	return true;
}

static bool set_knob(struct relay_knobs *k, const struct key *key, const double v[3],
		     unsigned int n)
{
	uint32_t count = (uint32_t)v[1], ms = (uint32_t)v[2];

	if (v[0] > 100)
		return false;
	k->chance[key->act] = (uint64_t)(v[0] / 100 * 4294967296.0);
	if (n < 2)
		return true;
	switch (key->act) {
	case RELAY_REORDER:
		k->reorder_by = count;
		if (n > 2)
			k->reorder_ms = ms;
		return count >= 1;
	case RELAY_MERGE:
		k->merge_n = count;
		if (n > 2)
			k->merge_ms = ms;
		return count >= 2 && count <= RELAY_MERGE_MAX;
	case RELAY_SQUEEZE:
		k->squeeze_n = count;
		if (n > 2)
			k->squeeze_ms = ms;
		return count >= 2;
	default:
		return false;
	}
}

static bool set(struct relay_conf *conf, unsigned int dir, const char *name, const double v[3],
		unsigned int n)
{
	bool ack = !strncmp(name, "ack-", 4);

	if (!strcmp(name, "delay") && n <= 2) {
		conf->delay_ns[dir] = (uint64_t)(v[0] * 1e6);
		conf->jitter_ns[dir] = n > 1 ? (uint64_t)(v[1] * 1e6) : 0;
		return true;
	}
	for (unsigned int i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		struct relay_knobs *k = conf->knobs[dir];

		if (strcmp(name + (ack ? 4 : 0), keys[i].name))
			continue;
		if (ack)
			return keys[i].classes & ACK && set_knob(&k[RELAY_ACK], &keys[i], v, n);
		/* Every segment offers a window. */
		if (keys[i].act == RELAY_SQUEEZE && !set_knob(&k[RELAY_ACK], &keys[i], v, n))
			return false;
		return set_knob(&k[RELAY_DATA], &keys[i], v, n);
	}
	return false;
}

bool relay_conf_parse(struct relay_conf *conf, unsigned int dir, const char *text)
{
	char name[32];

	while (*text) {
		size_t len = strcspn(text, "=");
		const char *p = text + len;
		double v[3] = {};
		unsigned int n = 0;

		if (!*p || len >= sizeof(name))
			goto bad;
		memcpy(name, text, len);
		name[len] = '\0';
		do {
			p++;
			if (n == 3 || !take_number(&p, &v[n++]))
				goto bad;
		} while (*p == ':');
		if ((*p && *p != ',') || !set(conf, dir, name, v, n))
			goto bad;
		text = *p ? p + 1 : p;
	}
	return true;
bad:
	fprintf(stderr, "relay: cannot use \"%s\"\n", text);
	return false;
}

/* One line of JSON; `extra` is put in front of the rest, with a comma at its end. */
void relay_print(const struct relay *r, FILE *out, const char *extra)
{
	static const char *const dirs[] = { "fwd", "rev" };
	static const char *const classes[] = { "data", "ack", "other" };

	fprintf(out, "{%s\"seed\":%" PRIu64, extra, r->conf.seed);
	for (unsigned int d = 0; d < 2; d++) {
		fprintf(out, ",\"%s\":{\"digest\":\"%016" PRIx64 "\"", dirs[d], r->dir[d].digest);
		for (unsigned int c = 0; c < RELAY_CLASSES; c++) {
			const char *sep = "";

			fprintf(out, ",\"%s\":{", classes[c]);
			for (unsigned int i = 0; i < RELAY_COUNTS; i++) {
				if (!r->dir[d].count[c][i] && i != RELAY_N_PACKETS)
					continue;
				fprintf(out, "%s\"%s\":%" PRIu64, sep, relay_count_names[i],
					r->dir[d].count[c][i]);
				sep = ",";
			}
			fprintf(out, "}");
		}
		fprintf(out, "}");
	}
	fprintf(out, "}\n");
	fflush(out);
}
