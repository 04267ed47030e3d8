// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/net/soak/soak.h"

const struct soak_kind_row soak_kinds[SOAK_KINDS] = {
	[SOAK_GRACEFUL] = { "graceful", 380 },	   [SOAK_RCLOSE] = { "receiver_closes", 140 },
	[SOAK_HALF] = { "half_closed", 140 },	   [SOAK_ABORT] = { "reset", 100 },
	[SOAK_RABORT] = { "receiver_resets", 60 }, [SOAK_REJECT] = { "rejected", 20 },
	[SOAK_TRUNCATED] = { "truncated", 25 },	   [SOAK_BAD_CRC] = { "bad_crc", 20 },
	[SOAK_BAD_LENGTH] = { "bad_length", 15 },  [SOAK_BAD_STAG] = { "bad_stag", 20 },
	[SOAK_BAD_BOUNDS] = { "bad_bounds", 15 },  [SOAK_BAD_QN] = { "bad_qn", 15 },
	[SOAK_NO_BUFFER] = { "no_buffer", 15 },	   [SOAK_BAD_VERSION] = { "bad_version", 15 },
	[SOAK_NO_MPA] = { "no_mpa", 10 },	   [SOAK_NO_REQUEST] = { "no_request", 10 },
};

uint64_t soak_stream(uint64_t id, uint64_t way)
{
	return mix(id * MIX_STEP + way);
}

static uint32_t soak_rnd(uint64_t *rng, uint32_t below)
{
	*rng += MIX_STEP;
	return (uint32_t)((mix(*rng) >> 32) * below >> 32);
}

/* As many small ones as large ones: 1 to 2^bits octets. */
static uint32_t soak_size(uint64_t *rng, unsigned int bits)
{
	return 1 + soak_rnd(rng, 1u << soak_rnd(rng, bits + 1));
}

static void soak_look_ahead(struct soak_plan *p)
{
	if (!p->left)
		return;
	p->ahead.tagged = soak_rnd(&p->rng, 3);
	p->ahead.len = soak_size(&p->rng, 18);
	p->ahead.back = p->back && !soak_rnd(&p->rng, 3) ? soak_size(&p->rng, 14) : 0;
}

static bool soak_fits(const struct soak_plan *p)
{
	if (p->ahead.tagged)
		return p->tagged + p->ahead.len <= SOAK_TAGGED;
	return p->untagged + p->ahead.len <= SOAK_UNTAGGED && p->posted < SOAK_POSTED;
}

void soak_plan_init(struct soak_plan *p, uint64_t id)
{
	uint32_t at, mood;
	int kind = -1;

	*p = (struct soak_plan){ .id = id, .rng = mix(id + 0x5eed) };
	at = soak_rnd(&p->rng, 1000);
	do {
		kind++;
		at -= soak_kinds[kind].weight;
	} while ((int32_t)at >= 0);
	p->kind = kind;
	p->back = p->kind == SOAK_HALF || !soak_rnd(&p->rng, 3);
	p->markers = !soak_rnd(&p->rng, 4);
	p->mixed = soak_rnd(&p->rng, 10) < 7 ? 0 : soak_rnd(&p->rng, 3) ? 2 : 8;
	mood = soak_rnd(&p->rng, 10);
	if (mood < 3) /* idle */
		p->think_ms = 5000, p->left = 1 + soak_rnd(&p->rng, 8);
	else if (mood < 7)
		p->think_ms = 500, p->left = 1 + soak_rnd(&p->rng, 60);
	else /* busy */
		p->left = 1 + soak_rnd(&p->rng, 200);
	/* A receiver that resets at once might not be heard: then nothing of the peer's is left to repeat. */
	p->stop = soak_rnd(&p->rng, p->left) + (p->kind == SOAK_RABORT);
	soak_look_ahead(p);
}

bool soak_plan_next(struct soak_plan *p, struct soak_msg *m)
{
	if (!p->left)
		return false;
	*m = p->ahead;
	p->left--;
	p->n++;
	m->off = p->off;
	p->off += m->len;
	if (m->tagged) {
		m->at = p->tagged;
		p->tagged += m->len;
	} else {
		m->at = p->untagged;
		p->untagged += m->len;
		p->posted++;
	}
	m->sync = false;
	soak_look_ahead(p);
	if (p->left && !soak_fits(p)) {
		if (p->back) {
			m->sync = true;
			m->back = m->back ? m->back : 1;
			p->tagged = p->untagged = 0;
			p->posted = 0;
		} else {
			p->left = 0;
		}
	}
	m->last = !p->left;
	return true;
}

bool soak_stops_early(enum soak_kind kind)
{
	return kind == SOAK_ABORT || kind == SOAK_RABORT || kind >= SOAK_TRUNCATED;
}

void soak_add_kinds(struct json_object *o, const uint64_t kinds[SOAK_KINDS])
{
	struct json_object *k = json_object_new_object();

	for (unsigned int i = 0; i < SOAK_KINDS; i++)
		add(k, soak_kinds[i].name, kinds[i]);
	json_object_object_add(o, "kinds", k);
}
