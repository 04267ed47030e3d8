// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Runs the scripts of conduct.h, many at the same time, each against the kernel path and against the direct path.
 *
 *   conduct SENDER-NS IFNAME IFNAME2 MAC MAC2 [NAME]
 *
 * Runs in the receiver's namespace, where xiwarp is loaded; its addresses and those of the peer are fixed. IFNAME is
 * the sender's end of the wire and MAC the receiver's address there; IFNAME2 and MAC2 belong to a second wire. Prints
 * PASS or FAIL for each script. Exit codes: 0 all passed, 1 some failed, 2 usage.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/net/conduct/conduct.h"
#include "tests/net/lib/loss.h"

#define ATTEMPTS 4
#define CASES_MAX 256
/* Rings are short, and losses are not what is tested here. */
#define APART_MS 10
#define LEGS_AT_ONCE 96

struct leg {
	struct peer peer;
	pthread_t thread;
	bool ok;
	uint64_t lost; /* segments that this machine lost while the script ran */
};

struct test {
	const struct script *script;
	bool v6;
	struct leg leg[2]; /* kernel, direct */
	unsigned int attempts;
};

static struct {
	int ns;
	const char *ifname[2];
	uint8_t mac[2][6];
} wire;

static sem_t places;
static _Atomic uint16_t next_port = FIRST_PORT;

static bool open_raw(struct raw *r, bool v6, uint16_t sport, uint16_t dport, int which)
{
	static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 9 };

	r->v6 = v6;
	r->sport = sport;
	r->dport = dport;
	r->id = sport * 64u; /* fragments of different connections do not meet */
	memcpy(r->src_mac, mac, 6);
	memcpy(r->dst_mac, wire.mac[which], 6);
	inet_pton(v6 ? AF_INET6 : AF_INET, v6 ? "fd77::9" : "10.77.0.9", r->src);
	inet_pton(v6 ? AF_INET6 : AF_INET, v6 ? "fd77::2" : "10.77.0.2", r->dst);
	return raw_open(r, wire.ifname[which]);
}

struct raw *other_interface(struct peer *p)
{
	struct raw *r = calloc(1, sizeof(*r));

	if (!r || !open_raw(r, p->v6, p->raw.sport, p->raw.dport, 1))
		FAIL(p, "the other interface: %m");
	return r;
}

struct peer *another(struct peer *p, const struct script *s, bool v6)
{
	const uint16_t port = next_port++;
	struct peer *q = calloc(1, sizeof(*q));

	if (!q)
		abort();
	*q = (struct peer){ .script = s,
			    .app = &apps[port - FIRST_PORT],
			    .direct = p->direct,
			    .v6 = v6,
			    .flags = s->flags,
			    .clock = 1000,
			    .stag = 0x10000u | port,
			    .trace = malloc(TRACE_MAX) };
	q->app->port = port;
	if (!q->trace || !open_raw(&q->raw, v6, port, p->raw.dport, 0))
		FAIL(p, "another peer's socket: %m");
	if (!peer_run(q))
		FAIL(p, "another peer: %s", q->why);
	return q;
}

void leave(struct peer *q)
{
	q->app->want |= APP_ABORT;
	raw_close(&q->raw);
	free(q->trace);
	free(q);
}

static uint64_t lost(void)
{
	return app_lost + loss_of_backlogs() + loss_of_link(wire.ifname[0]);
}

static void *run_leg(void *arg)
{
	struct leg *leg = arg;
	struct peer *p = &leg->peer;
	uint64_t before;

	while (sem_wait(&places))
		;
	if (setns(wire.ns, CLONE_NEWNET) ||
	    !open_raw(&p->raw, p->v6, p->app->port, p->direct ? DIRECT_PORT : KERNEL_PORT, 0)) {
		snprintf(p->why, sizeof(p->why), "the peer's socket: %m");
	} else {
		before = lost();
		leg->ok = peer_run(p);
		leg->lost = raw_lost(&p->raw) + lost() - before;
		raw_close(&p->raw);
	}
	sem_post(&places);
	return NULL;
}

static void start_leg(struct test *t, bool direct)
{
	struct leg *leg = &t->leg[direct];
	struct peer *p = &leg->peer;
	char *trace = p->trace ? p->trace : malloc(TRACE_MAX);
	uint16_t port = next_port++;

	*leg = (struct leg){};
	*p = (struct peer){ .script = t->script,
			    .app = &apps[port - FIRST_PORT],
			    .direct = direct,
			    .v6 = t->v6,
			    .flags = t->script->flags,
			    .clock = 1000,
			    .stag = 0x10000u | port,
			    .trace = trace };
	p->app->port = port;
	trace[0] = '\0';
	if (pthread_create(&leg->thread, NULL, run_leg, leg))
		abort();
}

static void join(struct test *t, bool direct)
{
	pthread_join(t->leg[direct].thread, NULL);
}

static const char *fault(const struct test *t)
{
	const struct leg *k = &t->leg[0], *d = &t->leg[1];

	if (!k->ok)
		return k->peer.why;
	if (!d->ok)
		return d->peer.why;
	return strcmp(k->peer.trace, d->peer.trace) ? "a peer can tell the paths" : NULL;
}

/*
 * This machine stalled, and XDP took that for a stall of the engine: the script did not test the direct path. Or the
 * machine lost segments, which the script's peer does not send again.
 */
static bool disturbed(struct test *t)
{
	struct leg *leg = &t->leg[1];
	uint64_t lost = t->leg[0].lost + leg->lost;

	if (fault(t) && lost) {
		printf("-- %s%s: %s; but %ju segments were lost meanwhile\n", t->script->name,
		       t->v6 ? "-v6" : "", fault(t), (uintmax_t)lost);
		return true;
	}

	if (leg->peer.flags & ALONE || !leg->peer.app->conn || setjmp(leg->peer.end))
		return false;
	return info(&leg->peer)->reasons[XIW_REASON_WATCHDOG];
}

static bool judge(struct test *t)
{
	const char *why = fault(t);
	struct leg *k = &t->leg[0], *d = &t->leg[1];

	if (!why) {
		printf("PASS %s%s\n", t->script->name, t->v6 ? "-v6" : "");
		return true;
	}
	printf("-- kernel path:\n%s-- direct path:\n%s", k->peer.trace, d->peer.trace);
	printf("FAIL %s%s: %s\n", t->script->name, t->v6 ? "-v6" : "", why);
	return false;
}

static bool run_alone(struct test *t)
{
	for (int direct = 0; direct < 2; direct++) {
		start_leg(t, direct);
		join(t, direct);
		app_deaf = app_hangs = false;
	}
	return judge(t);
}

static unsigned int collect(struct test *t, const char *only)
{
	static const struct script *const all[] = { conduct_recv,   conduct_sack, conduct_secure,
						    conduct_close,  conduct_ip,	  conduct_odd,
						    conduct_window, conduct_edge, conduct_share };
	unsigned int n = 0;

	for (unsigned int i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		for (const struct script *s = all[i]; s->name; s++)
			for (int v6 = 0; v6 <= !!(s->flags & V46); v6++) {
				if (n == CASES_MAX)
					abort();
				if (!only || strstr(s->name, only))
					t[n++] = (struct test){ .script = s, .v6 = v6 };
			}
	return n;
}

static void start_both(struct test *t)
{
	t->attempts++;
	start_leg(t, false);
	start_leg(t, true);
}

static unsigned int run_all(struct test *t, unsigned int n)
{
	unsigned int failures = 0;

	for (unsigned int i = 0; i < n; i++)
		if (!(t[i].script->flags & ALONE)) {
			start_both(&t[i]);
			pause_ms(APART_MS);
		}
	for (unsigned int i = 0; i < n; i++) {
		if (t[i].script->flags & ALONE)
			continue;
		join(&t[i], false);
		join(&t[i], true);
		while (disturbed(&t[i]) && t[i].attempts < ATTEMPTS) {
			start_both(&t[i]);
			join(&t[i], false);
			join(&t[i], true);
		}
		failures += !judge(&t[i]);
	}
	for (unsigned int i = 0; i < n; i++)
		if (t[i].script->flags & ALONE)
			failures += !run_alone(&t[i]);
	return failures;
}

static bool read_mac(const char *text, uint8_t mac[6])
{
	return sscanf(text, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &mac[0], &mac[1], &mac[2], &mac[3],
		      &mac[4], &mac[5]) == 6;
}

int main(int argc, char **argv)
{
	static struct test tests[CASES_MAX];
	unsigned int n, failures;

	if (argc < 6 || !read_mac(argv[4], wire.mac[0]) || !read_mac(argv[5], wire.mac[1]))
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	wire.ns = open(argv[1], O_RDONLY | O_CLOEXEC);
	wire.ifname[0] = argv[2];
	wire.ifname[1] = argv[3];
	sem_init(&places, 0, LEGS_AT_ONCE);
	n = collect(tests, argc > 6 ? argv[6] : NULL);
	if (wire.ns < 0 || !n || !end_start()) {
		printf("FAIL start: %m\n");
		return 1;
	}
	failures = run_all(tests, n);
	end_stop();
	return failures > 0;
}
