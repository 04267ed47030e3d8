// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sends messages with random content to `xiwarp sink`, and can write a file with what its buffer must hold then.
 *
 *   sendto [OPTION...] ADDRESS PORT
 *
 *   -s STAG   of the peer's buffer (0x1234)
 *   -t BYTES  tagged octets altogether, each exactly once (1 MiB); -r N: all of it N times
 *   -b TO     of the first of them (0)
 *   -l A-B    lengths of tagged messages, random between A and B (65536-65536)
 *   -u N      untagged messages, spread evenly between the tagged ones, -q Q: to QN 0 to Q-1 in turn (3),
 *             -L A-B: of random lengths between A and B (0-4096)
 *   -S SEED   of content and lengths (1)
 *   -o FILE   write what the peer's buffer must hold
 *   -C        do without CRCs if the peer does, too
 *   -w FILE   then all of it again every 20 ms, until FILE exists
 *
 * Prints one line of JSON. Exit codes: 0 everything was sent and the connection closed orderly, 1 otherwise, 2 usage.
 */
#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xiwarp/xiwarp.h>

#include "tests/net/lib/common.h"

struct sender {
	struct xiw_engine *engine;
	struct xiw_conn *conn;
	uint32_t stag, queues;
	uint64_t base, total, repeat, untagged;
	uint64_t min, max, umin, umax;
	const char *out, *wait;
	bool no_crc;

	uint64_t seed, lengths; /* states of two generators */
	uint8_t *image, *text;	/* tagged and untagged content */
	uint64_t to, round;	/* where the next tagged message goes */
	uint64_t sent_tagged, sent_untagged, octets_untagged, queued, done;
	bool open, pause;
};

static uint64_t next_random(uint64_t *state)
{
	return mix(*state += MIX_STEP);
}

static uint64_t random_between(uint64_t *state, uint64_t min, uint64_t max)
{
	return min + next_random(state) % (max - min + 1);
}

static uint8_t *random_octets(uint64_t *state, uint64_t len)
{
	uint8_t *p = malloc(len + 8);

	if (!p) {
		fprintf(stderr, "sendto: no memory\n");
		exit(1);
	}
	for (uint64_t i = 0; i < len; i += 8) {
		uint64_t r = next_random(state);

		memcpy(p + i, &r, sizeof(r));
	}
	return p;
}

/* Untagged messages are spread evenly: at any time the same share of both kinds is sent. */
static bool untagged_due(const struct sender *s)
{
	uint64_t all = s->total * s->repeat, at = s->round * s->total + s->to;

	return s->sent_untagged < s->untagged &&
	       (!all || at >= all || s->sent_untagged * (all / s->untagged) <= at);
}

/* Returns false if there is nothing more. */
static bool next_message(struct sender *s, struct xiw_message *m)
{
	*m = (struct xiw_message){ .rsvdulp = { 0x40 } };
	if (untagged_due(s)) {
		m->qn = (uint32_t)(s->sent_untagged % s->queues);
		m->len = random_between(&s->lengths, s->umin, s->umax);
		m->buf = s->text;
		return true;
	}
	if (s->round == s->repeat || !s->total)
		return false;
	m->tagged = true;
	m->stag = s->stag;
	m->to = s->base + s->to;
	m->len = random_between(&s->lengths, s->min, s->max);
	if (m->len > s->total - s->to)
		m->len = s->total - s->to;
	m->buf = s->image + s->to;
	return true;
}

static void count(struct sender *s, const struct xiw_message *m)
{
	s->queued++;
	if (!m->tagged) {
		s->sent_untagged++;
		s->octets_untagged += m->len;
		return;
	}
	s->sent_tagged++;
	s->to += m->len;
	if (s->to == s->total) {
		s->to = 0;
		s->round++;
	}
}

/* Returns false if the library refused a message. */
static bool pump(struct sender *s)
{
	struct xiw_message m;
	uint64_t lengths = s->lengths;
	int err;

	while (s->open && next_message(s, &m)) {
		err = xiw_conn_send(s->conn, &m);
		if (err == -EAGAIN) {
			s->lengths = lengths; /* the same one again, when there is room */
			return true;
		}
		if (err) {
			fprintf(stderr, "sendto: send: %s\n", strerror(-err));
			return false;
		}
		count(s, &m);
		lengths = s->lengths;
	}
	if (s->open && s->queued == s->done) {
		if (s->wait && access(s->wait, F_OK)) {
			s->pause = true;
			return true;
		}
		s->open = false;
		xiw_conn_close(s->conn);
	}
	return true;
}

static int converse(struct sender *s)
{
	struct xiw_completion c;
	int n;

	while ((n = xiw_engine_run(s->engine, s->pause ? 20 : -1)) >= 0) {
		if (s->pause) {
			s->pause = false;
			s->repeat++;
		}
		while (xiw_engine_next(s->engine, &c) > 0) {
			if (c.event == XIW_EV_CONNECTED)
				s->open = true;
			else if (c.event == XIW_EV_SENT)
				s->done++;
			else if (c.event == XIW_EV_REFUSED)
				fprintf(stderr, "sendto: refused: %s\n", strerror(-c.status));
			else if (c.event == XIW_EV_CLOSED && c.status)
				fprintf(stderr, "sendto: closed: %s\n", strerror(-c.status));
			if (c.event == XIW_EV_CLOSED)
				return c.status || s->done != s->queued || s->round != s->repeat;
		}
		if (!pump(s))
			return 1;
	}
	fprintf(stderr, "sendto: engine: %s\n", strerror(-n));
	return 1;
}

static int start(struct sender *s, const char *host, const char *port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST }, *addr;
	struct xiw_engine_opts eopts = { .size = sizeof(eopts),
					 .app_ring_fd = -1,
					 .path = XIW_USE_KERNEL };
	struct xiw_conn_opts opts = { .size = sizeof(opts), .no_crc = s->no_crc };
	int err = getaddrinfo(host, port, &hints, &addr);

	if (err) {
		fprintf(stderr, "sendto: %s: %s\n", host, gai_strerror(err));
		return 1;
	}
	opts.queues = s->queues;
	err = xiw_engine_create(&eopts, &s->engine);
	if (!err)
		err = xiw_connect(s->engine, addr->ai_addr, addr->ai_addrlen, &opts, &s->conn);
	freeaddrinfo(addr);
	if (err)
		fprintf(stderr, "sendto: %s\n", strerror(-err));
	return err ? 1 : 0;
}

static int write_image(const struct sender *s)
{
	FILE *f = fopen(s->out, "wb");
	bool good = f && fwrite(s->image, 1, s->total, f) == s->total;

	if (f && fclose(f))
		good = false;
	if (!good)
		perror(s->out);
	return good ? 0 : 1;
}

static bool range(const char *text, uint64_t *min, uint64_t *max)
{
	char *end;

	*min = strtoull(text, &end, 0);
	*max = *end == '-' ? strtoull(end + 1, &end, 0) : *min;
	return !*end && *min <= *max;
}

static bool options(struct sender *s, int argc, char **argv)
{
	bool good = true;
	int opt;

	while ((opt = getopt(argc, argv, "s:b:t:r:l:u:q:L:S:o:Cw:")) != -1) {
		switch (opt) {
		case 's':
			s->stag = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'b':
			s->base = strtoull(optarg, NULL, 0);
			break;
		case 't':
			s->total = strtoull(optarg, NULL, 0);
			break;
		case 'r':
			s->repeat = strtoull(optarg, NULL, 0);
			break;
		case 'l':
			good &= range(optarg, &s->min, &s->max) && s->min;
			break;
		case 'u':
			s->untagged = strtoull(optarg, NULL, 0);
			break;
		case 'q':
			s->queues = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'L':
			good &= range(optarg, &s->umin, &s->umax);
			break;
		case 'S':
			s->seed = strtoull(optarg, NULL, 0);
			break;
		case 'o':
			s->out = optarg;
			break;
		case 'C':
			s->no_crc = true;
			break;
		case 'w':
			s->wait = optarg;
			break;
		default:
			good = false;
		}
	}
	if (!s->total)
		s->repeat = 0;
	return good && optind + 2 == argc && s->queues;
}

int main(int argc, char **argv)
{
	struct sender s = { .stag = 0x1234,
			    .queues = 3,
			    .total = 1 << 20,
			    .repeat = 1,
			    .min = 65536,
			    .max = 65536,
			    .umax = 4096,
			    .seed = 1 };
	int code;

	if (!options(&s, argc, argv)) {
		fprintf(stderr, "usage: sendto [-s STAG] [-b TO] [-t BYTES] [-r N] [-l A-B] [-u N] "
				"[-q N] [-L A-B] "
				"[-S SEED] [-o FILE] [-C] [-w FILE] ADDRESS PORT\n");
		return 2;
	}
	s.lengths = ~s.seed;
	s.image = random_octets(&s.seed, s.total);
	s.text = random_octets(&s.seed, s.umax);
	code = s.out ? write_image(&s) : 0;
	if (!code)
		code = start(&s, argv[optind], argv[optind + 1]);
	if (!code)
		code = converse(&s);
	printf("{\"tagged_messages\":%llu,\"tagged_octets\":%llu,\"untagged_messages\":%llu,"
	       "\"untagged_octets\":%llu}\n",
	       (unsigned long long)s.sent_tagged, (unsigned long long)(s.round * s.total + s.to),
	       (unsigned long long)s.sent_untagged, (unsigned long long)s.octets_untagged);
	xiw_conn_free(s.conn);
	xiw_engine_destroy(s.engine);
	free(s.image);
	free(s.text);
	return code;
}
