// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Races two CPUs where a stretch begins. The segment at S consists of many FPDUs. The walk over them keeps its CPU
 * between the reads and the swaps, for as long as whole runs of the program take on the other CPU.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include "harness.h"

#define S 0xfffffe00u
#define SKEW 0x777u
#define FPDUS 150
#define PAYLOAD (FPDUS * 8)
#define SECONDS 3
#define SECONDS_AT_MOST 45
#define MET 20 /* how often each outcome must be seen at least; otherwise nothing raced */

static struct harness h;
static struct xiw_flow *flow;
static struct xiw_flow_key key = { .remote_addr = { 0, 0, __builtin_bswap32(0xffff), 1 },
				   .local_addr = { 0, 0, __builtin_bswap32(0xffff), 2 },
				   .remote_port = 3,
				   .local_port = 4 };
static uint8_t at_s[14 + 20 + 20 + PAYLOAD], beyond[sizeof(at_s)];
static uint32_t ifindex;

/* FPDUs of 8 octets: 2 of ULPDU_Length, 2 of ULPDU, 4 of CRC. */
static void build(uint8_t *p, uint32_t seq)
{
	int i;

	put16(p + 12, 0x0800);
	p[14] = 0x45;
	put16(p + 16, sizeof(at_s) - 14);
	p[23] = 6;
	memcpy(p + 26, &key.remote_addr[3], 4);
	memcpy(p + 30, &key.local_addr[3], 4);
	memcpy(p + 34, &key.remote_port, 2);
	memcpy(p + 36, &key.local_port, 2);
	put32(p + 38, seq);
	p[46] = 0x50;
	p[47] = 0x10;
	for (i = 0; i < FPDUS; i++)
		put16(p + 54 + 8 * i, 2);
}

static int run(const uint8_t *p)
{
	struct xdp_md md = { .data_end = sizeof(at_s), .ingress_ifindex = ifindex };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = p, .data_size_in = sizeof(at_s),
		    .ctx_in = &md, .ctx_size_in = sizeof(md), .repeat = 1);

	return bpf_prog_test_run_opts(h.ingress, &opts) ? -1 : (int)opts.retval;
}

/* A compiler that knows what the loop does would leave it out. */
static void spin(uint32_t n)
{
	while (n--)
		__asm__ volatile("");
}

/* On a busy machine the scheduler could put both threads on one CPU, where they never meet. */
static void pin(pthread_t thread, int nth)
{
	static cpu_set_t allowed;
	cpu_set_t one;
	int cpu;

	if (!nth) {
		cr_assert(!sched_getaffinity(0, sizeof(allowed), &allowed));
		if (CPU_COUNT(&allowed) < 2)
			cr_skip_test("needs two CPUs");
	}
	for (cpu = 0; !CPU_ISSET(cpu, &allowed) || nth--; cpu++)
		;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	cr_assert(!pthread_setaffinity_np(thread, sizeof(one), &one));
}

static pthread_t start(void *(*function)(void *), void *segment)
{
	pthread_t thread;

	cr_assert(!pthread_create(&thread, NULL, function, segment));
	pin(thread, 1);
	return thread;
}

static struct timespec begun;

/* Continues for SECONDS, or longer until everything was seen: on a busy machine the CPUs seldom meet. */
static bool goes_on(bool seen)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec - begun.tv_sec < (seen ? SECONDS : SECONDS_AT_MOST);
}

static void set_owner(uint32_t value, uint32_t epoch, uint32_t path)
{
	__atomic_store_n(&flow->owner, xiw_owner_pack(value, epoch, path), __ATOMIC_SEQ_CST);
}

static void set_up(void)
{
	uint32_t index = 0, q = 0;
	int fd;

	pin(pthread_self(), 0);
	harness_load(&h);
	ifindex = if_nametoindex("lo");
	fd = harness_xsk("lo", 0);
	cr_assert(!bpf_map_update_elem(h.xsks_map, &q, &fd, BPF_ANY));
	cr_assert(!bpf_map_update_elem(h.index_map, &key, &index, BPF_ANY));
	flow = &h.flows[index];
	flow->kernel_edge = flow->direct_edge = S + 65536;
	flow->run_needed = 1;
	memset(flow->out_mac, 2, sizeof(flow->out_mac));
	h.queues[0].emptied_ns = ~0ull >> 1;
	h.queues[0].takes = 2048;
	build(at_s, S);
	build(beyond, S + PAYLOAD);
	clock_gettime(CLOCK_MONOTONIC, &begun);
}

/* ---- one run on each CPU per round --------------------------------------------------------------- */

static atomic_uint round_no, started, finished;
static atomic_int verdict; /* result of the other CPU's run */
static atomic_bool stop;

static void *other_cpu(void *segment)
{
	unsigned int seen = 0;

	while (!atomic_load(&stop)) {
		if (atomic_load(&round_no) == seen)
			continue;
		seen++;
		atomic_store(&started, seen);
		spin(seen * 2654435761u >> 20); /* up to 4095 */
		atomic_store(&verdict, run(segment));
		atomic_store(&finished, seen);
	}
	return NULL;
}

/* Arms the flow and starts a run on the other CPU, then waits until some moment during that run. */
static void begin_round(uint32_t round)
{
	uint32_t epoch = 4 * round;

	flow->kernel_high = S;
	flow->gap = 0; /* of the last round */
	set_owner(SKEW, epoch, XIW_PATH_KERNEL);
	set_owner(SKEW, epoch + 1, XIW_PATH_ARMED);
	atomic_store(&round_no, round);
	while (atomic_load(&started) != round)
		;
	spin(rnd(4096));
}

static void end_round(uint32_t round)
{
	while (atomic_load(&finished) != round)
		;
	cr_assert(atomic_load(&verdict) >= 0);
}

/* Runs a segment on each CPU. Returns the result of the one at S, on this CPU. */
static int one_round(uint32_t round)
{
	int mine;

	begin_round(round);
	mine = run(at_s);
	end_round(round);
	cr_assert(mine >= 0);
	return mine;
}

static bool is_direct(uint32_t round)
{
	return flow->owner == xiw_owner_pack(S, 4 * round + 2, XIW_PATH_DIRECT) &&
	       flow->kernel_nxt == xiw_kernel_nxt_pack(S - SKEW, 4 * round + 2);
}

/* The other segment has data beyond S. If it passes, the stretch must not begin at S. */
Test(race, beyond, .timeout = 60)
{
	uint32_t round = 0, direct = 0, passed = 0, dropped = 0;
	pthread_t thread;
	int mine;

	set_up();
	thread = start(other_cpu, beyond);
	do {
		mine = one_round(++round);
		cr_assert(mine != XDP_REDIRECT || verdict != XDP_PASS,
			  "round %u: DIRECT from %x while the kernel got octets beyond it", round,
			  S);
		cr_assert(mine != XDP_REDIRECT || is_direct(round), "round %u: owner %llx K %llx",
			  round, flow->owner, flow->kernel_nxt);
		cr_assert(mine == XDP_REDIRECT || xiw_owner_path(flow->owner) != XIW_PATH_DIRECT,
			  "round %u: DIRECT without its first segment", round);
		direct += mine == XDP_REDIRECT;
		passed += verdict == XDP_PASS;
		dropped += verdict == XDP_DROP;
	} while (goes_on(direct > MET && passed > MET && flow->reasons[XIW_REASON_RACE] > MET));
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	fprintf(stderr,
		"%u rounds: %u went direct, %u passed beyond S, %u dropped, %u called off\n", round,
		direct, passed, dropped, flow->reasons[XIW_REASON_RACE]);
	cr_expect(direct > MET && passed > MET && flow->reasons[XIW_REASON_RACE] > MET);
	cr_expect_eq(flow->went_direct, direct);
}

/* The other segment is the same one. One of them begins the stretch, and none is passed. */
Test(race, same_segment, .timeout = 60)
{
	uint32_t round = 0, late = 0, theirs = 0, went = 0, stood = 0;
	pthread_t thread;
	int mine;

	set_up();
	thread = start(other_cpu, at_s);
	do {
		mine = one_round(++round);
		cr_assert_eq(flow->went_direct, ++went, "round %u: began %u times", round,
			     flow->went_direct - went + 1);
		/* If a CPU stands still for longer than XIW_STUCK_NS, it finds the stream stuck. */
		if (flow->reasons[XIW_REASON_UNSEEN] != stood) {
			stood++;
			continue;
		}
		cr_assert(is_direct(round), "round %u: owner %llx K %llx", round, flow->owner,
			  flow->kernel_nxt);
		cr_assert(mine != XDP_PASS && verdict != XDP_PASS, "round %u: passed", round);
		cr_assert(mine == XDP_REDIRECT || verdict == XDP_REDIRECT, "round %u", round);
		late += mine == XDP_DROP || verdict == XDP_DROP;
		theirs += mine == XDP_DROP;
	} while (goes_on(theirs > MET && late - theirs > MET));
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	fprintf(stderr, "%u rounds: %u met at the claim, %u of them won by the other\n", round,
		late, theirs);
	cr_expect(theirs > MET && late - theirs > MET);
	cr_expect_eq(flow->reasons[XIW_REASON_RACE], 0);
}

/* The library disarms the flow. Then nothing goes direct, even if a K was claimed. */
Test(race, disarm, .timeout = 60)
{
	uint32_t round = 0, direct = 0, passed = 0, dropped = 0;
	pthread_t thread;
	__u64 armed;

	set_up();
	thread = start(other_cpu, at_s);
	do {
		begin_round(++round);
		spin(rnd(chance(20) ? 20000 : 1));
		armed = xiw_owner_pack(SKEW, 4 * round + 1, XIW_PATH_ARMED);
		if (__atomic_compare_exchange_n(&flow->owner, &armed,
						xiw_owner_pack(SKEW, 4 * round + 2,
							       XIW_PATH_KERNEL),
						false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
			end_round(round);
			cr_assert(verdict != XDP_REDIRECT, "round %u: to AF_XDP", round);
			cr_assert_eq(xiw_owner_path(flow->owner), XIW_PATH_KERNEL);
			passed += verdict == XDP_PASS;
			dropped += verdict == XDP_DROP;
		} else {
			end_round(round);
			cr_assert(verdict == XDP_REDIRECT && is_direct(round),
				  "round %u: verdict %d owner %llx K %llx", round, verdict,
				  flow->owner, flow->kernel_nxt);
			direct++;
		}
	} while (goes_on(direct > MET && passed > MET && dropped > MET));
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	fprintf(stderr, "%u rounds: %u went direct, %u passed, %u dropped\n", round, direct, passed,
		dropped);
	cr_expect(direct > MET && passed > MET && dropped > MET);
	cr_expect_eq(flow->went_direct, direct);
}

/* ---- a CPU that is later than whole stretches ---------------------------------------------------- */

static void *runs_all_the_time(void *segment)
{
	while (!atomic_load(&stop)) {
		run(segment);
		atomic_fetch_add(&finished, 1);
	}
	return NULL;
}

/*
 * Stretches begin and end while the other CPU is on its way to claim K, for an epoch that is over. The K of a stretch
 * that has begun meanwhile must not change.
 */
Test(race, late_claim, .timeout = 60)
{
	uint32_t round = 0, epoch = 0, i, skew = SKEW, mine = 0, theirs = 0;
	__u64 k, nxt, armed;
	pthread_t thread;

	set_up();
	thread = start(runs_all_the_time, at_s);
	do {
		flow->kernel_high = S;
		set_owner(++skew, ++epoch, XIW_PATH_KERNEL);
		nxt = __atomic_load_n(&flow->kernel_nxt, __ATOMIC_SEQ_CST);
		set_owner(skew, ++epoch, XIW_PATH_ARMED);
		armed = flow->owner;
		spin(rnd(chance(10) ? 40000 : 2000));
		/* Begins the stretch as a third CPU would. */
		k = xiw_kernel_nxt_pack(S - skew, ++epoch);
		if (!__atomic_compare_exchange_n(&flow->kernel_nxt, &nxt, k, false,
						 __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) ||
		    !__atomic_compare_exchange_n(&flow->owner, &armed,
						 xiw_owner_pack(S, epoch, XIW_PATH_DIRECT), false,
						 __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
			theirs++;
			epoch += 2; /* the other CPU may have made two transitions */
			continue;
		}
		mine++;
		for (i = rnd(1000); i; i--)
			cr_assert_eq(__atomic_load_n(&flow->kernel_nxt, __ATOMIC_SEQ_CST), k,
				     "round %u: K %llx of a stretch that is under way became %llx",
				     round, k, flow->kernel_nxt);
	} while (++round % 64 || goes_on(mine > MET && theirs > MET));
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	fprintf(stderr, "%u runs, %u stretches begun here, %u there\n", atomic_load(&finished),
		mine, theirs);
	cr_expect(mine > MET && theirs > MET);
}
