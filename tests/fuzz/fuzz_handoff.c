// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The hand-off by the code that ships: the BPF programs on two CPUs, and the engine. The input is the schedule; each
 * yields before every access to shared memory. The peer and the kernel's socket are models (handoff_world.h).
 *
 * Whatever the schedule and the wire do, every message is delivered once, in order, with the octets that were sent; no
 * octet is acknowledged that nobody holds; a Send waits for its buffer, which may be one of a shared queue, and if its
 * time is up the stream ends with an error, once; the window's right edge does not move back; every checksum is right.
 * When the wire works again and buffers are posted, the stream reaches its end. An octet that was acknowledged and lost
 * would stop it for ever, because the peer does not resend it. A broken direct path may stay broken: the kernel path
 * remains.
 */
#include "tests/fuzz/handoff_engine.h"

#define DRAIN_ROUNDS 4000

static struct fiber engine_fiber;

static void start(struct fuzz_in *in)
{
	world_begin(in);
	xdp_step = fiber_step;
	fiber_make(&engine_fiber, engine_turn, NULL);
	for (int i = 0; i < XDP_CPUS; i++)
		fiber_make(&cpus[i].fiber, cpu_run, &cpus[i]);
}

/* ---- what may happen next ------------------------------------------------------------------------ */

static void peer_sends(struct fuzz_in *in)
{
	uint8_t how = fuzz_u8(in);
	uint32_t n = 1 + (how >> 4), len;

	for (; n; n--) {
		switch (how & 7) {
		case 0: /* anything */
			len = 1 + fuzz_u8(in) * 2;
			break;
		case 1: /* two FPDUs, or one and a half */
			len = fpdu_end(fpdu_end(peer_nxt)) - peer_nxt;
			break;
		default: /* to the end of the FPDU */
			len = fpdu_end(peer_nxt) - peer_nxt;
			break;
		}
		transmit(peer_nxt, len, how & 8);
	}
}

/* Octets that are not acknowledged may come again, cut into other segments. */
static void peer_sends_again(struct fuzz_in *in)
{
	uint32_t unacked = peer_nxt > peer_una ? peer_nxt - peer_una : 0, pos, len;
	uint8_t how = fuzz_u8(in);

	pos = peer_una + (how & 1 && unacked ? fuzz_u16(in) % unacked : 0);
	if (pos >= stream_end && !fin_sent)
		return;
	len = how & 2 ? 1 + fuzz_u8(in) * 2 : fpdu_end(pos) - pos;
	if (len > peer_nxt - pos)
		len = peer_nxt - pos;
	transmit(pos, len, fin_sent);
}

/* A segment is lost, doubled, damaged, or delivered to a CPU, in any order. */
static void wire_moves(struct fuzz_in *in)
{
	uint8_t how = fuzz_u8(in);
	struct cpu *c = &cpus[how & 1];
	struct parcel *p, *copy;
	uint32_t hlen;

	if (!wire.n)
		return;
	p = wire.item[how & 2 ? fuzz_u8(in) % wire.n : 0];
	for (uint32_t i = 0; i < wire.n; i++)
		if (wire.item[i] == p)
			pull(&wire, i);
	if (how & 4 && !(how & 0xf0)) {
		free(p);
		return;
	}
	if (c->fiber.busy) {
		push(&wire, p);
		return;
	}
	if (how & 8 && !(how & 0xf0)) {
		copy = new_parcel();
		*copy = *p;
		push(&wire, copy);
	}
	if (how == 0xf4 && p->len) {
		hlen = p->octets_len - p->len;
		p->octets[hlen + fuzz_u16(in) % p->len] ^= 1 + fuzz_u8(in) % 255;
		p->damaged = true;
	}
	cpu_start(c, p, false);
	fiber_go(&c->fiber, how >> 4 == 15 ? 1000 : how >> 4);
}

static void sock_moves(struct fuzz_in *in)
{
	uint8_t how = fuzz_u8(in);
	struct queue_of *q = how & 1 ? &injected : how & 2 ? &cpus[0].backlog : &cpus[1].backlog;
	uint32_t n = 1 + (how >> 5);
	struct parcel *p;

	for (; n && q->n; n--) {
		p = pull(q, 0);
		if ((how & 0x1c) != 0x1c) /* sometimes the kernel has no memory */
			sock_receive(q == &injected ? p->octets : p->octets + ETH,
				     q == &injected ? p->octets_len : p->octets_len - ETH, p);
		free(p);
	}
}

static void sock_acks(struct cpu *c, uint32_t steps)
{
	if (c->fiber.busy)
		return;
	cpu_start(c, sock_ack(), true);
	fiber_go(&c->fiber, steps);
}

static void engine_moves(uint32_t steps, uint32_t most)
{
	read_most = most ? most : 1;
	fiber_go(&engine_fiber, steps);
}

/* The usual case: segments that get through, then the engine's turn. */
static void all_through(void);

static void round_trip(uint8_t how)
{
	for (uint32_t n = 1 + (how & 15); n; n--) {
		uint32_t len = fpdu_end(peer_nxt) - peer_nxt;

		transmit(peer_nxt, how & 16 && n == 1 ? len / 2 : len, how & 32);
	}
	all_through();
	engine_moves(1000000, 4096);
	all_through();
	if (how & 64)
		xdp_now += 41000000;
	if (how & 128)
		sock_acks(&cpus[0], 1000);
	engine_moves(1000000, 4096);
}

/* A burst of segments that gets through XDP, and to the socket too with @received. */
static void burst(bool received)
{
	for (uint32_t steps = 0; steps < 16 && wire.n && !cpus[0].fiber.busy; steps++) {
		cpu_start(&cpus[0], pull(&wire, 0), false);
		fiber_go(&cpus[0].fiber, 1000);
		while (received && cpus[0].backlog.n) {
			struct parcel *p = pull(&cpus[0].backlog, 0);

			sock_receive(p->octets + ETH, p->octets_len - ETH, p);
			free(p);
		}
	}
}

static void step(struct fuzz_in *in)
{
	uint8_t what = fuzz_u8(in);

	switch (what & 15) {
	case 0:
		peer_sends(in);
		break;
	case 1:
		round_trip(fuzz_u8(in));
		break;
	case 2:
		peer_sends_again(in);
		break;
	case 3:
	case 4:
	case 5:
		wire_moves(in);
		break;
	case 6:
	case 7:
		if (cpus[what & 1].fiber.busy)
			fiber_go(&cpus[what & 1].fiber, what >> 4);
		break;
	case 8:
	case 9:
		sock_moves(in);
		break;
	case 10:
		sock_acks(&cpus[what >> 4 & 1], what >> 5);
		break;
	case 11:
		burst(!(what & 16));
		break;
	case 12:
	case 13:
		engine_moves(what & 0x80 ? 10000 : what >> 4, 4096);
		break;
	case 14:
		engine_moves(what >> 4, fuzz_u8(in) * 4u);
		break;
	default:
		if (what == 0xff)
			xdp_xsk = !xdp_xsk;
		else if (what ==
			 0xdf) /* segments come on another engine's queue, or on ours again */
			__atomic_fetch_xor(&xdp_queue.engine, 1, __ATOMIC_RELAXED);
		else if (what == 0xef)
			broken = fuzz_u8(in) & 15;
		else if (what == 0xcf && another_takes())
			break;
		else if (what >= 0xaf)
			post_buffers((what >> 4) - 9);
		else
			xdp_now += (what & 0x80 ? 250 : what & 0x40 ? 41 : 1) * 1000000ull;
		break;
	}
}

/* ---- the wire is good again ---------------------------------------------------------------------- */

static void all_through(void)
{
	for (int i = 0; i < XDP_CPUS; i++) {
		while (cpus[i].fiber.busy)
			fiber_go(&cpus[i].fiber, 1000);
	}
	while (wire.n) {
		cpu_start(&cpus[0], pull(&wire, 0), false);
		fiber_go(&cpus[0].fiber, 1000);
	}
	for (int i = 0; i < XDP_CPUS; i++) {
		while (cpus[i].backlog.n) {
			struct parcel *p = pull(&cpus[i].backlog, 0);

			sock_receive(p->octets + ETH, p->octets_len - ETH, p);
			free(p);
		}
	}
	while (injected.n) {
		struct parcel *p = pull(&injected, 0);

		sock_receive(p->octets, p->octets_len, p);
		free(p);
	}
}

/* Everything that was sent must arrive, up to the end of its FPDU. */
static void drain(void)
{
	uint32_t goal, rounds = 0, last, una = peer_una, most;
	bool shut = false; /* nothing could be sent: the window probe is answered */

	while (engine_fiber.busy)
		fiber_go(&engine_fiber, 1000);
	goal = peer_nxt ? fpdu_end(peer_nxt - 1) : 0;
	if (fin_sent)
		goal = stream_end;
	last = goal + fin_sent;
	while (peer_una < last || held_upto < last) {
		CHECK(++rounds < DRAIN_ROUNDS, "stalls at %u of %u; held %u, edge %u", peer_una,
		      goal, held_upto, edge);
		all_through();
		for (int i = 0; i < 3; i++) {
			post_buffers(rounds & 1);
			engine_moves(1000000, 4096);
		}
		CHECK(!engine_fiber.busy);
		all_through();
		/* The socket's next ACK would repair what the engine's did not. */
		if (!broken || sock.owes_ack || shut)
			sock_acks(&cpus[0], 1000);
		/*
		 * Like a peer after a loss: some segments at a time, from the first octet that is not acknowledged.
		 * Only one segment if the last ones were not acknowledged (RFC 5681 section 3.1).
		 */
		most = peer_una == una ? 1 : 4;
		una = peer_una;
		for (uint32_t pos = peer_una, n = 0, took; n < most && pos < last;
		     n++, pos += took) {
			took = pos < goal ? transmit(pos, fpdu_end(pos) - pos, fin_sent)
					  : transmit(pos, 0, fin_sent);
			if (!took)
				break;
		}
		shut = !wire.n;
		xdp_now += 50000000;
	}
	all_through();
	post_buffers(nfpdus);
	/* What is still in the socket is read when the stream is not held any more. */
	for (uint32_t i = 0, free_turns = 0; free_turns < 3 && i < 3 + 4 * nfpdus; i++) {
		engine_moves(1000000, 4096);
		/* A segment that waited for a buffer may have been given to the socket. */
		all_through();
		xdp_now += 1000000;
		free_turns = conn->hold.on || conn->keeps.hand ? 0 : free_turns + 1;
	}
	CHECK(!conn->hold.on && !conn->hold.octets && !conn->keeps.hand);
	CHECK(failed == conn->counts.holds_expired);
	CHECK(failed || next_fpdu == nfpdus || fpdus[next_fpdu].start >= goal, "%u messages",
	      next_fpdu);
	CHECK(!fin_sent || conn->end.eof);
	REACHES(conn->counts.holds_expired, "a hold that expires");
	REACHES(fin_sent && the_flow->went_direct, "a FIN behind a stretch");
}

/* What `xiwarp status` shows as dropped includes everything that the receiver refused. */
static void counted(void)
{
	uint64_t drops = 0;

	for (int i = 0; i < XIW_TCP_DROP_MAX; i++)
		drops += conn->counts.drops[i] + conn->tcp.drops[i];
	CHECK(the_flow->segs_dropped >= drops, "%ju segments of %ju counted as dropped",
	      (uintmax_t)the_flow->segs_dropped, (uintmax_t)drops);
}

/* What the inputs in the tree must bring about. */
static void goals(void)
{
	REACHES(the_flow->went_direct > 1, "two stretches");
	REACHES(conn->counts.fpdus_early, "an FPDU that is placed early");
	REACHES(the_flow->reasons[XIW_REASON_RACE], "a stretch that begins in vain");
	REACHES(the_flow->reasons[XIW_REASON_BOUNDARY], "a stretch that begins within an FPDU");
	REACHES(the_flow->reasons[XIW_REASON_WATCHDOG], "an engine that does not run");
	REACHES(the_flow->reasons[XIW_REASON_UNSEEN], "frames that are lost");
	REACHES(the_flow->reasons[XIW_REASON_STEERED], "another engine's queue");
	REACHES(the_flow->reasons[XIW_REASON_UNHEARD], "acknowledgements that are lost");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };

	start(&in);
	while (in.left)
		step(&in);
	drain();
	counted();
	goals();
	world_end();
	return 0;
}
