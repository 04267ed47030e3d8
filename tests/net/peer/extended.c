// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Immediate Data and atomic operations (RFC 7306): a peer of plain sockets (rdmap.h) against an application on the
 * library (rdmap_end.c), with every message in both directions, and every error with its Terminate.
 *
 *   extended ADDRESS CONTROL-PORT kernel|direct [CASE]
 *
 * Prints PASS or FAIL for each case. Exit codes: 0 all passed, 1 some failed, 2 usage.
 */
#include "tests/net/peer/rdmap.h"

enum { IMMEDIATE = 0x48, IMMEDIATE_SE, ATOMIC_REQUEST, ATOMIC_RESPONSE };
enum { WORDS_STAG = 0x7777, WORDS_SIZE = 65536 };
enum { FETCH_ADD = 0, CMP_SWAP = 2 };
#define ATOMIC_LEN 52
#define ORIGINAL_LEN 12
#define LD (LAST | DV)
#define IN_ORDER                                                                                   \
	0x1122334455667700ull /* what the library sends as Immediate Data, plus its number */

/* ---- messages of our own ------------------------------------------------------------------------- */

static struct ulpdu *immediate_ulpdu(uint8_t control, uint32_t msn, uint64_t value)
{
	struct ulpdu *m = untagged_ulpdu(LD, control, 0, 0, msn, 0, 8);

	put(m->u + 18, value, 8);
	return m;
}

struct atomic {
	uint32_t code, id, stag;
	uint64_t to, value, mask, compare, compare_mask;
};

/* Figure 4, with ones where a receiver ignores them. */
static struct ulpdu *atomic_ulpdu(uint32_t msn, const struct atomic *a)
{
	struct ulpdu *m = untagged_ulpdu(LD, ATOMIC_REQUEST, 0, 1, msn, 0, ATOMIC_LEN);

	put(m->u + 18, 0xfffffff0 | a->code, 4);
	put(m->u + 22, a->id, 4);
	put(m->u + 26, a->stag, 4);
	put(m->u + 30, a->to, 8);
	put(m->u + 38, a->value, 8);
	put(m->u + 46, a->mask, 8);
	put(m->u + 54, a->code == CMP_SWAP ? a->compare : UINT64_MAX, 8);
	put(m->u + 62, a->code == CMP_SWAP ? a->compare_mask : 0, 8);
	return m;
}

static const char *add(uint32_t msn, uint32_t id, uint64_t to, uint64_t value, uint64_t mask)
{
	const struct atomic a = { FETCH_ADD, id, WORDS_STAG, to, value, mask, 0, 0 };

	return push_ulpdu(atomic_ulpdu(msn, &a));
}

static const char *swap(uint32_t msn, uint32_t id, uint64_t to, uint64_t value, uint64_t mask,
			uint64_t compare, uint64_t compare_mask)
{
	const struct atomic a = {
		CMP_SWAP, id, WORDS_STAG, to, value, mask, compare, compare_mask
	};

	return push_ulpdu(atomic_ulpdu(msn, &a));
}

/* The answer to a Request of ours. */
static const char *expect_original(uint32_t msn, uint32_t id, uint64_t value)
{
	struct fpdu f;

	TRY(pull_untagged(&f, ATOMIC_RESPONSE, 0, 3, msn, ORIGINAL_LEN));
	CHECK(get(f.ulpdu + 18, 4) == id, "Identifier %x", (unsigned int)get(f.ulpdu + 18, 4));
	CHECK(get(f.ulpdu + 22, 8) == value, "%llx, not %llx",
	      (unsigned long long)get(f.ulpdu + 22, 8), (unsigned long long)value);
	return NULL;
}

static struct ulpdu *original_ulpdu(uint32_t msn, uint64_t id, uint64_t value, uint32_t len)
{
	struct ulpdu *m = untagged_ulpdu(LD, ATOMIC_RESPONSE, 0, 3, msn, 0, len);

	put(m->u + 18, id, 4);
	put(m->u + 22, value, 8);
	return m;
}

/* What is at `off` in the library's words before any operation, in the order of this host's octets. */
static uint64_t word(uint64_t off)
{
	uint8_t octets[8];
	uint64_t value;

	for (uint64_t i = 0; i < 8; i++)
		octets[i] = octet(off + i);
	memcpy(&value, octets, 8);
	return value;
}

/* ---- Immediate Data ------------------------------------------------------------------------------ */

/* In order with Sends, each in a buffer of its own; reserved bits and the Invalidate STag are ignored. */
static const char *immediates_in(int unused)
{
	struct ulpdu *m;

	(void)unused;
	TRY(open_responder("ext=1"));
	TRY(warm_up());
	TRY(push_ulpdu(immediate_ulpdu(IMMEDIATE, 1, 0x0102030405060708)));
	TRY(push_send(SEND, 0, 2, 100));
	TRY(push_ulpdu(immediate_ulpdu(IMMEDIATE_SE, 3, 1)));
	TRY(push_ulpdu(tagged_ulpdu(LD, WRITE, WRITE_STAG, BASE + 4000, 500)));
	/* In two segments (RFC 5041 section 5.2). */
	m = untagged_ulpdu(DV, IMMEDIATE | 0x30, INV_STAG, 0, 4, 0, 3);
	put(m->u + 18, 0, 3);
	TRY(push_ulpdu(m));
	m = untagged_ulpdu(LD, IMMEDIATE | 0x30, INV_STAG, 0, 4, 3, 5);
	put(m->u + 18, 2, 5);
	TRY(push_ulpdu(m));
	return finished("events=CrrrrEX status=0 immediates=3/0 sends=1/0 writes=4/0 solicited=1 "
			"lengths=124 values=10203040506070b invalidated=0 touched=0 direct=%d",
			peer.direct);
}

/* Buffers that are too short, or empty, are taken as well. */
static const char *short_buffers(int len)
{
	TRY(begin("role=r ext=1 rlen=%d", len));
	TRY(send_frame(REQUEST, C | S, 2, enhanced(0, 0, DEPTH, DEPTH), 0));
	TRY(expect_frame(REPLY, C | S, 2, enhanced(0, 0, DEPTH, DEPTH), 0));
	TRY(warm_up());
	TRY(push_ulpdu(immediate_ulpdu(IMMEDIATE, 1, 0x0102030405060708)));
	TRY(push_send(SEND, 0, 2, (uint32_t)len));
	TRY(push_ulpdu(immediate_ulpdu(IMMEDIATE_SE, 3, 1)));
	return finished("events=CrrrEX status=0 immediates=2/0 sends=1/0 lengths=%d "
			"values=102030405060709 solicited=1 direct=%d",
			16 + len, peer.direct);
}

/* But not by anything else that they have no room for. */
static const char *too_short(int how)
{
	static const uint8_t controls[] = { SEND, IMMEDIATE, IMMEDIATE, 0x88 };
	static const uint32_t lens[] = { 8, 9, 8, 8 };
	const struct ulpdu *m;

	TRY(open_responder("ext=1 rlen=7"));
	TRY(warm_up());
	m = untagged_ulpdu(how == 2 ? DV : LD, controls[how], 0, 0, 1, 0, lens[how]);
	TRY(push_ulpdu(m));
	TRY(pull_terminate(how == 3 ? "0.2.5D" : "1.2.5D", m));
	return ended("events=CeX immediates=0/0 sends=0/0 direct=%d", peer.direct);
}

static const char *expect_immediate(uint8_t control, uint32_t msn, uint64_t value)
{
	struct fpdu f;

	TRY(pull_untagged(&f, control, 0, 0, msn, 8));
	CHECK(get(f.ulpdu + 18, 8) == value);
	return NULL;
}

/* Sections 6.2 and 6.3. A Write with Immediate Data is two messages and one completion. */
static const char *immediates_out(int unused)
{
	struct fpdu f;

	(void)unused;
	TRY(open_initiator("ext=1 ops=mMsxwM len=2000"));
	TRY(expect_immediate(IMMEDIATE, 1, IN_ORDER));
	TRY(expect_immediate(IMMEDIATE_SE, 2, IN_ORDER + 1));
	TRY(pull_fpdu(&f)); /* the Send, in two segments */
	TRY(pull_fpdu(&f));
	TRY(pull_tagged(WRITE, OUR_STAG, 0x500000003, 2000, 0));
	TRY(expect_immediate(IMMEDIATE, 4, IN_ORDER + 3));
	TRY(pull_tagged(WRITE, OUR_STAG, 0x500000004, 2000, 0));
	TRY(expect_immediate(IMMEDIATE_SE, 5, IN_ORDER + 5));
	TRY(warm_up());
	return finished("events=CssssssEX status=0 immediates=0/4 sends=0/1 writes=3/2 post=0 "
			"direct=%d",
			peer.direct);
}

/* ---- atomic operations --------------------------------------------------------------------------- */

static const char *atomics_in(int unused)
{
	const uint64_t first = word(0), second = word(8);

	(void)unused;
	TRY(open_responder("ext=1"));
	TRY(warm_up());
	TRY(add(1, 0xdeadbeef, BASE, 7, 0));
	TRY(expect_original(1, 0xdeadbeef, first));
	/* Two fields: nothing is carried from the lower half. */
	TRY(add(2, 1, BASE, UINT32_MAX, 1ull << 31));
	TRY(expect_original(2, 1, first + 7));
	TRY(add(3, 2, BASE, 0, 0));
	TRY(expect_original(3, 2, (first & 0xffffffff00000000) | (uint32_t)(first + 6)));
	/* A CmpSwap that compares unequal, one that compares some bits, and one that always swaps. */
	TRY(swap(4, 3, BASE + 8, 1, UINT64_MAX, second + 1, UINT64_MAX));
	TRY(expect_original(4, 3, second));
	TRY(swap(5, 4, BASE + 8, 0xab, 0xff, second ^ 0xff00, 0xff));
	TRY(expect_original(5, 4, second));
	TRY(swap(6, 5, BASE + 8, 77, UINT64_MAX, 0, 0));
	TRY(expect_original(6, 5, (second & ~0xffull) | 0xab));
	/* The last word of the region. */
	TRY(add(7, 6, BASE + WORDS_SIZE - 8, 1, 0));
	TRY(expect_original(7, 6, word(WORDS_SIZE - 8)));
	TRY(add(8, 7, BASE + 8, 0, 0));
	TRY(expect_original(8, 7, 77));
	return finished("events=CEX status=0 atomics=8/0 reads=0/0 writes=3/0 direct=%d",
			peer.direct);
}

/* A Request in segments (RFC 5041 section 5.2): nothing is done before the last one, and then once. */
static const char *atomic_in_segments(int unused)
{
	const struct atomic a = { FETCH_ADD, 9, WORDS_STAG, BASE, 7, 0, 0, 0 };
	const struct ulpdu whole = *atomic_ulpdu(1, &a);
	struct ulpdu *m;

	(void)unused;
	TRY(open_responder("ext=1"));
	TRY(warm_up());
	for (uint32_t at = 0; at < ATOMIC_LEN; at += 13) {
		m = untagged_ulpdu(at + 13 < ATOMIC_LEN ? DV : LD, ATOMIC_REQUEST, 0, 1, 1, at, 13);
		memcpy(m->u + 18, whole.u + 18 + at, 13);
		TRY(push_ulpdu(m));
	}
	TRY(expect_original(1, 9, word(0)));
	TRY(add(2, 10, BASE, 0, 0));
	TRY(expect_original(2, 10, word(0) + 7));
	return finished("events=CEX status=0 atomics=2/0 direct=%d", peer.direct);
}

/* As many as were agreed on, Reads among them: the answers come in the order of the Requests (section 7). */
static const char *among_reads(int unused)
{
	uint64_t sum = word(16);

	(void)unused;
	TRY(open_responder("ext=1"));
	TRY(warm_up());
	for (uint32_t i = 0; i < 30; i++) {
		TRY(add(4 * i + 1, i, BASE + 16, i, 0));
		TRY(push_ulpdu(read_ulpdu(4 * i + 2, 0x77, 0, 30000, READ_STAG, BASE + i)));
		TRY(add(4 * i + 3, ~i, BASE + 16, 1, 0));
		TRY(push_ulpdu(read_ulpdu(4 * i + 4, 0x78, 0, 0, 0, 0)));
		TRY(expect_original(2 * i + 1, i, sum));
		TRY(pull_tagged(READ_RESPONSE, 0x77, 0, 30000, i));
		TRY(expect_original(2 * i + 2, ~i, sum + i));
		TRY(pull_tagged(READ_RESPONSE, 0x78, 0, 0, 0));
		sum += i + 1;
	}
	return finished("events=CEX status=0 atomics=60/0 reads=60/0 direct=%d", peer.direct);
}

static const char *expect_request(uint32_t i, uint32_t msn, bool compares, uint64_t *id)
{
	struct fpdu f;

	TRY(pull_untagged(&f, ATOMIC_REQUEST, 0, 1, msn, ATOMIC_LEN));
	CHECK(get(f.ulpdu + 18, 4) == (compares ? CMP_SWAP : FETCH_ADD));
	*id = get(f.ulpdu + 22, 4);
	CHECK(get(f.ulpdu + 26, 4) == OUR_STAG && get(f.ulpdu + 30, 8) == 0x500000000ull + i);
	CHECK(get(f.ulpdu + 38, 8) == 5 && get(f.ulpdu + 46, 8) == 0x8000);
	CHECK(get(f.ulpdu + 54, 8) == (compares ? 0x0102030405060708 : 0));
	CHECK(get(f.ulpdu + 62, 8) == (compares ? 0xff : UINT64_MAX));
	return NULL;
}

/* Section 5.2.1: in the order submitted, and no more than were agreed on, Reads included. */
static const char *atomics_out(int unused)
{
	uint64_t id[8];
	struct fpdu f;

	(void)unused;
	TRY(open_initiator("ext=1 ops=acraacs"));
	TRY(expect_request(0, 1, false, &id[0]));
	TRY(expect_request(1, 2, true, &id[1]));
	TRY(pull_untagged(&f, READ_REQUEST, 0, 1, 3, READ_LEN));
	TRY(expect_request(3, 4, false, &id[3]));
	TRY(silent(100));
	TRY(warm_up());
	TRY(push_ulpdu(original_ulpdu(1, id[0], 0x1000000000000001, ORIGINAL_LEN)));
	TRY(expect_request(4, 5, false, &id[4]));
	TRY(silent(100));
	TRY(push_ulpdu(original_ulpdu(2, id[1], 0x20, ORIGINAL_LEN)));
	TRY(expect_request(5, 6, true, &id[5]));
	TRY(pull_untagged(&f, SEND, 0, 0, 1, 100));
	TRY(push_ulpdu(tagged_ulpdu(LD, READ_RESPONSE, WRITE_STAG, BASE + 2000, 100)));
	TRY(push_ulpdu(original_ulpdu(3, id[3], 0x300, ORIGINAL_LEN)));
	TRY(push_ulpdu(original_ulpdu(4, id[4], 0x4000, ORIGINAL_LEN)));
	TRY(push_ulpdu(original_ulpdu(5, id[5], 0x50000, ORIGINAL_LEN)));
	return finished("events=CaadaaasEX status=0 atomics=0/5 reads=0/1 values=1000000000054321 "
			"direct=%d",
			peer.direct);
}

/* The peer closes and leaves them unanswered. */
static const char *unanswered(int unused)
{
	uint64_t id;

	(void)unused;
	TRY(open_initiator("ext=1 ops=aa"));
	TRY(expect_request(0, 1, false, &id));
	TRY(push_ulpdu(original_ulpdu(1, id, 1, ORIGINAL_LEN)));
	TRY(half_close());
	TRY(expect_request(1, 2, false, &id));
	return ended("atomics=0/1 sent=none");
}

/* ---- what is refused ----------------------------------------------------------------------------- */

struct bad {
	const char *name, *want;
	uint8_t control;
	uint32_t qn, len;
};

/* Messages of a wrong length, or on a wrong queue. */
static const struct bad bad[] = {
	{ "immediate-empty", "0.2.255D", IMMEDIATE, 0, 0 },
	{ "immediate-7", "0.2.255D", IMMEDIATE, 0, 7 },
	{ "immediate-9", "0.2.255D", IMMEDIATE, 0, 9 },
	{ "immediate-se-4", "0.2.255D", IMMEDIATE_SE, 0, 4 },
	{ "immediate-long", "1.2.5D", IMMEDIATE, 0, 4097 },
	{ "immediate-queue-1", "0.2.6D", IMMEDIATE, 1, 8 },
	{ "immediate-version", "0.2.5D", 0x08, 0, 8 },
	{ "atomic-queue-0", "0.2.6D", ATOMIC_REQUEST, 0, ATOMIC_LEN },
	{ "atomic-queue-2", "0.2.6D", ATOMIC_REQUEST, 2, ATOMIC_LEN },
	{ "atomic-version", "0.2.5D", 0x8a, 1, ATOMIC_LEN },
	{ "atomic-empty", "0.2.255D", ATOMIC_REQUEST, 1, 0 },
	{ "atomic-short", "0.2.255D", ATOMIC_REQUEST, 1, ATOMIC_LEN - 1 },
	{ "atomic-long", "1.2.5D", ATOMIC_REQUEST, 1, ATOMIC_LEN + 1 },
	{ "read-as-long-as-an-atomic", "0.2.255D", READ_REQUEST, 1, ATOMIC_LEN },
	{ "response-queue-1", "0.2.6D", ATOMIC_RESPONSE, 1, ORIGINAL_LEN },
	/* Nothing was asked, so there is no buffer for it (section 5.2.2 rule 5). */
	{ "response-unasked", "1.2.2D", ATOMIC_RESPONSE, 3, ORIGINAL_LEN },
	{ "queue-4", "1.2.1D", ATOMIC_RESPONSE, 4, ORIGINAL_LEN },
	{ "opcode-12", "0.2.6D", 0x4c, 0, 8 },
};

static const char *refused(const char *more, const struct ulpdu *m, const char *want)
{
	char told[32];

	TRY(pull_terminate(want, m));
	snprintf(told, sizeof(told), "%.*sMD", (int)strcspn(want, "D"), want);
	return ended("events=CeX sent=%s received=none writes=3/0 immediates=0/0 atomics=0/0 "
		     "direct=%d %s",
		     told, peer.direct, more);
}

static const char *one_bad(int i)
{
	const struct ulpdu *m;

	TRY(open_responder("ext=1"));
	TRY(warm_up());
	m = untagged_ulpdu(LD, bad[i].control, 0, bad[i].qn, 1, 0, bad[i].len);
	TRY(push_ulpdu(m));
	return refused("", m, bad[i].want);
}

/* Requests for what may not be done. */
static const struct {
	const char *name, *want;
	struct atomic a;
} forbidden[] = {
	/* Section 8.2, last rule. */
	{ "misaligned-add", "0.2.7D", { FETCH_ADD, 1, WORDS_STAG, BASE + 4, 1, 0, 0, 0 } },
	{ "misaligned-swap", "0.2.7D", { CMP_SWAP, 1, WORDS_STAG, BASE + 1, 1, 1, 0, 0 } },
	/* Section 5.2.1 rule 4. */
	{ "code-1", "0.2.6D", { 1, 1, WORDS_STAG, BASE, 1, 0, 0, 0 } },
	{ "code-15", "0.2.6D", { 15, 1, WORDS_STAG, BASE, 1, 0, 0, 0 } },
	{ "stag", "0.1.0D", { FETCH_ADD, 1, 0x4321, BASE, 1, 0, 0, 0 } },
	{ "below", "0.1.1D", { FETCH_ADD, 1, WORDS_STAG, BASE - 8, 1, 0, 0, 0 } },
	{ "beyond", "0.1.1D", { FETCH_ADD, 1, WORDS_STAG, BASE + WORDS_SIZE, 1, 0, 0, 0 } },
	{ "across-the-end",
	  "0.1.1D",
	  { FETCH_ADD, 1, WORDS_STAG, BASE + WORDS_SIZE - 4, 1, 0, 0, 0 } },
	{ "no-right", "0.1.2D", { CMP_SWAP, 1, WRITE_STAG, BASE, 1, UINT64_MAX, 0, 0 } },
	{ "right-to-read", "0.1.2D", { FETCH_ADD, 1, READ_STAG, BASE, 1, 0, 0, 0 } },
	{ "other-domain", "0.1.3D", { FETCH_ADD, 1, OTHER_PD, BASE, 1, 0, 0, 0 } },
	{ "wrap", "0.1.4D", { FETCH_ADD, 1, WORDS_STAG, UINT64_MAX - 7, 1, 0, 0, 0 } },
};

static const char *one_forbidden(int i)
{
	const struct ulpdu *m;

	TRY(open_responder("ext=1"));
	TRY(warm_up());
	m = atomic_ulpdu(1, &forbidden[i].a);
	TRY(push_ulpdu(m));
	return refused("touched=0", m, forbidden[i].want);
}

/* One more than was agreed on, a Read among them whose answer cannot be sent yet. */
static const char *too_many(int unused)
{
	const struct atomic a = { FETCH_ADD, 1, WORDS_STAG, BASE, 1, 0, 0, 0 };
	const struct ulpdu *m;

	(void)unused;
	TRY(open_responder("ext=1"));
	TRY(push_ulpdu(read_ulpdu(1, 0x77, 0, READ_SIZE, READ_STAG, BASE)));
	for (uint32_t i = 2; i <= DEPTH; i++)
		TRY(push_ulpdu(atomic_ulpdu(i, &a)));
	m = atomic_ulpdu(DEPTH + 1, &a);
	TRY(push_ulpdu(m));
	TRY(pull_terminate("0.2.7D", m));
	return ended("events=CeX sent=0.2.7MD atomics=%d/0 reads=0/0", DEPTH - 1);
}

/* Answers to a Request of the library's that are not what was asked for, or not from the oldest one. */
static const char *wrong_answer(int how)
{
	static const char *const want[] = { "0.2.7D", "0.2.7D", "1.2.5D", "0.2.6D", "1.2.2D" };
	static const char *const told[] = { "0.2.7MD", "0.2.7MD", "1.2.5MD", "0.2.6MD", "1.2.2MD" };
	const struct ulpdu *m;
	struct fpdu f;
	uint64_t id;

	TRY(open_initiator(how == 3 ? "ext=1 ops=ra" : "ext=1 ops=a"));
	if (how == 3)
		TRY(pull_untagged(&f, READ_REQUEST, 0, 1, 1, READ_LEN));
	TRY(expect_request(how == 3, how == 3 ? 2 : 1, false, &id));
	TRY(warm_up());
	if (how == 4) /* answered twice */
		TRY(push_ulpdu(original_ulpdu(1, id, 1, ORIGINAL_LEN)));
	m = original_ulpdu(how == 4 ? 2 : 1, id + (how == 0), 1,
			   ORIGINAL_LEN - (how == 1) + (how == 2));
	TRY(push_ulpdu(m));
	TRY(pull_terminate(want[how], m));
	return ended("sent=%s atomics=0/%d direct=%d", told[how], how == 4, peer.direct);
}

/* An answer to a Read whose turn has not come: nothing of it is placed. */
static const char *read_before_its_turn(int unused)
{
	struct ulpdu *m;
	struct fpdu f;
	uint64_t id;

	(void)unused;
	TRY(open_initiator("ext=1 ops=ar"));
	TRY(expect_request(0, 1, false, &id));
	TRY(pull_untagged(&f, READ_REQUEST, 0, 1, 2, READ_LEN));
	TRY(warm_up());
	m = tagged_ulpdu(LD, READ_RESPONSE, WRITE_STAG, BASE + 1000, 100);
	for (uint32_t i = 14; i < m->len; i++)
		m->u[i] = (uint8_t)~m->u[i];
	TRY(push_ulpdu(m));
	TRY(pull_terminate("0.2.6D", m));
	return ended("sent=0.2.6MD touched=0 reads=0/0 direct=%d", peer.direct);
}

/* ---- an application that has not asked for RFC 7306 ---------------------------------------------- */

static const char *not_extended(int opcode)
{
	static const uint32_t qn[] = { 0, 0, 1, 3 }, len[] = { 8, 8, ATOMIC_LEN, ORIGINAL_LEN };
	const int i = opcode - IMMEDIATE;
	const struct ulpdu *m;

	TRY(open_responder(""));
	TRY(warm_up());
	m = untagged_ulpdu(LD, (uint8_t)opcode, 0, qn[i], 1, 0, len[i]);
	TRY(push_ulpdu(m));
	return refused("", m, i == 3 ? "1.2.1D" : "0.2.6D");
}

static const char *not_posted(int unused)
{
	struct fpdu f;

	(void)unused;
	TRY(open_initiator("ops=amxs"));
	TRY(pull_untagged(&f, SEND, 0, 0, 1, 100));
	return finished("events=CsEX status=0 post=-95 atomics=0/0 immediates=0/0 sends=0/1 "
			"writes=0/0");
}

/* A peer without the extensions says so (section 1.1). */
static const char *peer_without(int unused)
{
	static const uint8_t body[] = { 0x02, 0x06, 0, 0 };
	struct ulpdu *m;
	uint64_t id;

	(void)unused;
	TRY(open_initiator("ext=1 ops=a"));
	TRY(expect_request(0, 1, false, &id));
	m = untagged_ulpdu(LD, TERMINATE, 0, 2, 1, 0, sizeof(body));
	memcpy(m->u + 18, body, sizeof(body));
	TRY(push_ulpdu(m));
	return ended("events=CtfX sent=none received=0.2.6 atomics=0/0");
}

/* ---- run ----------------------------------------------------------------------------------------- */

static const struct test_case cases[] = {
	{ "immediates-in", immediates_in, 0 },
	{ "immediates-in-short", short_buffers, 7 },
	{ "immediates-in-empty", short_buffers, 0 },
	{ "short-send", too_short, 0 },
	{ "short-immediate-9", too_short, 1 },
	{ "short-not-last", too_short, 2 },
	{ "short-version", too_short, 3 },
	{ "immediates-out", immediates_out, 0 },
	{ "atomics-in", atomics_in, 0 },
	{ "atomic-in-segments", atomic_in_segments, 0 },
	{ "atomics-among-reads", among_reads, 0 },
	{ "atomics-out", atomics_out, 0 },
	{ "atomics-unanswered", unanswered, 0 },
	{ "too-many", too_many, 0 },
	{ "answer-identifier", wrong_answer, 0 },
	{ "answer-short", wrong_answer, 1 },
	{ "answer-long", wrong_answer, 2 },
	{ "answer-before-a-read", wrong_answer, 3 },
	{ "answer-twice", wrong_answer, 4 },
	{ "read-before-its-turn", read_before_its_turn, 0 },
	{ "without-immediate", not_extended, IMMEDIATE },
	{ "without-immediate-se", not_extended, IMMEDIATE_SE },
	{ "without-atomic", not_extended, ATOMIC_REQUEST },
	{ "without-response", not_extended, ATOMIC_RESPONSE },
	{ "without-posted", not_posted, 0 },
	{ "peer-without", peer_without, 0 },
	{},
};

int main(int argc, char **argv)
{
	open_control(argc, argv);
	run_cases(cases);
	for (int i = 0; i < (int)(sizeof(bad) / sizeof(bad[0])); i++)
		run_case(bad[i].name, one_bad, i);
	for (int i = 0; i < (int)(sizeof(forbidden) / sizeof(forbidden[0])); i++)
		run_case(forbidden[i].name, one_forbidden, i);
	return failures > 0;
}
