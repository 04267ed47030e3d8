// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What completions say of each operation at both sides, and of those that fail. */
#include "tests/net/programs/verbs_ends.h"

#include <endian.h>

/* Where things are in the memory of both sides. */
enum { TEXT = 0, WRITTEN = 256, INLINE_AT = 512, IMMEDIATE_AT = 768, SOURCE = 1024, WORD = 2048 };

struct place {
	uint64_t addr;
	uint32_t rkey;
};

static void extend(void)
{
	setenv("XIWARP_EXTENDED", "1", 1);
}

static void tell_place(const struct side *s)
{
	tell((uintptr_t)s->memory);
	tell(s->mr->rkey);
}

static struct place told_place(void)
{
	uint64_t addr = told();

	return (struct place){ addr, (uint32_t)told() };
}

/* The word is in a region of its own, since that of the side has no right to atomic operations. */
static struct ibv_mr *tell_word(const struct side *s)
{
	struct ibv_mr *mr = ibv_reg_mr(s->pd, s->memory + WORD, 16,
				       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC);

	IS(mr);
	tell((uintptr_t)s->memory + WORD);
	tell(mr->rkey);
	return mr;
}

static void waits(struct side *s)
{
	meet();
	await_end(s);
	free_side(s);
}

static void ends(struct side *s)
{
	meet();
	IS(!rdma_disconnect(s->id));
	await_end(s);
	free_side(s);
}

/* ---- success --------------------------------------------------------------------------------------- */

#define FIRST 0xfedcba9876543210ull
#define ADDED 0x0123456700000001ull
#define SWAPPED 0xa5a5a5a55a5a5a5aull

/* The operation on 16 octets of the text, or 8 octets of the word. Returns what its completion says. */
static struct ibv_wc does(struct side *s, struct ibv_send_wr wr, size_t from, uint32_t len)
{
	struct ibv_sge sge = sge_of(s, from, len);
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	wr.wr_id = 0xabcdef0100000000 + wr.opcode;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.send_flags |= IBV_SEND_SIGNALED;
	IS(!ibv_post_send(s->id->qp, &wr, &bad));
	wc = completion(s->cq);
	IS(wc.status == IBV_WC_SUCCESS && !wc.wc_flags && !wc.vendor_err);
	IS(wc.wr_id == wr.wr_id && wc.qp_num == s->id->qp->qp_num);
	return wc;
}

static void does_writes(struct side *s, struct place at)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .wr.rdma.rkey = at.rkey };

	wr.wr.rdma.remote_addr = at.addr + WRITTEN;
	IS(does(s, wr, TEXT, 16).opcode == IBV_WC_RDMA_WRITE);
	wr.send_flags = IBV_SEND_INLINE;
	wr.wr.rdma.remote_addr = at.addr + INLINE_AT;
	IS(does(s, wr, TEXT, 16).opcode == IBV_WC_RDMA_WRITE);
	wr = (struct ibv_send_wr){ .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
				   .imm_data = htobe32(0x01020304),
				   .wr.rdma = { at.addr + IMMEDIATE_AT, at.rkey } };
	IS(does(s, wr, TEXT, 16).opcode == IBV_WC_RDMA_WRITE);
	meet();
	wr.send_flags = IBV_SEND_SOLICITED;
	IS(does(s, wr, TEXT, 0).opcode == IBV_WC_RDMA_WRITE);
}

static void does_reads(struct side *s, struct place at)
{
	const struct ibv_send_wr read = { .opcode = IBV_WR_RDMA_READ,
					  .wr.rdma = { at.addr + SOURCE, at.rkey } };
	struct ibv_wc wc = does(s, read, SOURCE, 16);

	IS(wc.opcode == IBV_WC_RDMA_READ && wc.byte_len == 16);
	IS(!memcmp(s->memory + SOURCE, "other side's own", 16));
}

/* The word that was found. */
static uint64_t does_atomic(struct side *s, struct place at, enum ibv_wr_opcode opcode,
			    uint64_t compare_add, uint64_t swap)
{
	const bool adds = opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	const struct ibv_send_wr wr = { .opcode = opcode,
					.wr.atomic = { at.addr, compare_add, swap, at.rkey } };
	struct ibv_wc wc = does(s, wr, WORD, 8);
	uint64_t found;

	IS(wc.opcode == (adds ? IBV_WC_FETCH_ADD : IBV_WC_COMP_SWAP) && wc.byte_len == 8);
	memcpy(&found, s->memory + WORD, 8);
	return found;
}

/* All 64 bits are compared and swapped. */
static void does_atomics(struct side *s, struct place at)
{
	const enum ibv_wr_opcode swap = IBV_WR_ATOMIC_CMP_AND_SWP;
	const uint64_t sum = FIRST + ADDED;

	IS(does_atomic(s, at, IBV_WR_ATOMIC_FETCH_AND_ADD, ADDED, 77) == FIRST);
	IS(does_atomic(s, at, swap, sum ^ 1ull << 63, 77) == sum);
	IS(does_atomic(s, at, swap, sum ^ 1, 77) == sum);
	IS(does_atomic(s, at, swap, sum, SWAPPED) == sum);
	IS(does_atomic(s, at, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 77) == SWAPPED);
}

static void does_each(void)
{
	struct side s = {};
	struct place at, word;

	extend();
	connect_side(&s);
	memcpy(s.memory, "0123456789abcdef", 16);
	at = told_place();
	word = told_place();
	IS(does(&s, (struct ibv_send_wr){ .opcode = IBV_WR_SEND }, TEXT, 16).opcode == IBV_WC_SEND);
	does_writes(&s, at);
	does_reads(&s, at);
	does_atomics(&s, word);
	ends(&s);
}

static struct ibv_wc receives(struct side *s, uint64_t wr_id)
{
	struct ibv_wc wc = completion(s->cq);

	IS(wc.status == IBV_WC_SUCCESS && wc.wr_id == wr_id && !wc.vendor_err);
	IS(wc.qp_num == s->id->qp->qp_num);
	return wc;
}

/* The posted buffer stays as it was, and byte_len is the Write's. */
static void immediate(struct side *s, uint64_t wr_id, uint32_t len)
{
	const uint8_t *buffer = s->memory + OCTETS / 2 + (wr_id - 100) * 1024;
	struct ibv_wc wc = receives(s, wr_id);

	IS(wc.byte_len == len);
	for (size_t i = 0; i < 1024; i++)
		IS(buffer[i] == 0xee);

	IS(wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM && wc.wc_flags == IBV_WC_WITH_IMM);
	IS(wc.imm_data == htobe32(0x01020304));
}

static void is_told(void)
{
	static const size_t written[] = { WRITTEN, INLINE_AT, IMMEDIATE_AT };
	const uint64_t first = FIRST;
	struct side s = {};
	struct ibv_mr *word;
	struct ibv_wc wc;
	struct ibv_cq *cq;
	void *context;

	extend();
	accept_side(&s, 3);
	memset(s.memory + OCTETS / 2, 0xee, OCTETS / 2);
	memcpy(s.memory + SOURCE, "other side's own", 16);
	memcpy(s.memory + WORD, &first, 8);
	IS(!ibv_req_notify_cq(s.cq, 1));
	tell_place(&s);
	word = tell_word(&s);
	wc = receives(&s, 100);
	IS(wc.opcode == IBV_WC_RECV && wc.byte_len == 16 && !wc.wc_flags);
	immediate(&s, 101, 16);
	for (size_t i = 0; i < sizeof(written) / sizeof(*written); i++)
		IS(!memcmp(s.memory + written[i], "0123456789abcdef", 16));
	IS(!readable(s.told->fd, 0)); /* neither was solicited */
	meet();
	IS(!ibv_get_cq_event(s.told, &cq, &context));
	ibv_ack_cq_events(cq, 1);
	immediate(&s, 102, 0);
	meet();
	await_end(&s);
	IS(!ibv_dereg_mr(word));
	free_side(&s);
}

/* ---- failure --------------------------------------------------------------------------------------- */

static void fails(struct side *s, uint64_t wr_id, enum ibv_wc_status status)
{
	struct ibv_wc wc = completion(s->cq);

	if (wc.wr_id != wr_id || wc.status != status)
		die("%s, not %s", ibv_wc_status_str(wc.status), ibv_wc_status_str(status));
	IS(wc.qp_num == s->id->qp->qp_num && wc.vendor_err);
}

static int post_atomic(struct side *s, struct place at)
{
	struct ibv_sge sge = sge_of(s, 0, 8);
	struct ibv_send_wr wr = { .wr_id = 3,
				  .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .wr.atomic = { at.addr, 1, 0, at.rkey } },
			   *bad;

	return ibv_post_send(s->id->qp, &wr, &bad);
}

/* The other side's word must be where that may be, and lie at a multiple of 8. */
static void asks_wrong_word(void)
{
	static const struct {
		int region;
		uint64_t off;
		enum ibv_wc_status status;
	} wrong[] = { { 0, WORD, IBV_WC_REM_ACCESS_ERR }, { 1, 4, IBV_WC_REM_OP_ERR } };

	extend();
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct side s = {};
		struct place at[2];

		connect_side(&s);
		at[0] = told_place();
		at[1] = told_place();
		at[wrong[i].region].addr += wrong[i].off;
		IS(!post_atomic(&s, at[wrong[i].region]));
		fails(&s, 3, wrong[i].status);
		await_end(&s);
		free_side(&s);
		meet();
	}
}

static void has_words(void)
{
	extend();
	for (int i = 0; i < 2; i++) {
		struct side s = {};
		struct ibv_mr *word;

		accept_side(&s, 0);
		tell_place(&s);
		word = tell_word(&s);
		await_end(&s);
		IS(!ibv_dereg_mr(word));
		free_side(&s);
		meet();
	}
}

/* Regions with one right of a peer's each, behind one without any. */
static const int rights[] = { 0, IBV_ACCESS_REMOTE_READ,
			      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
			      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC };

#define OVERSTEPS 9 /* three of each of these, into the other regions */

static const enum ibv_wr_opcode needs[] = { IBV_WR_SEND, IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE,
					    IBV_WR_ATOMIC_FETCH_AND_ADD };

static void oversteps(unsigned int region, unsigned int right)
{
	struct side s = {};
	struct place at;

	connect_side(&s);
	memset(s.memory, 'x', 64);
	tell(region);
	at = told_place();
	if (right == 3)
		IS(!post_atomic(&s, at));
	else
		IS(!post_remote(&s, needs[right], 3, at.addr, at.rkey));
	/* A Write has most often succeeded before the peer looks at it. */
	if (right != 2)
		fails(&s, 3, IBV_WC_REM_ACCESS_ERR);
	await_end(&s);
	free_side(&s);
	meet();
}

static void oversteps_each(void)
{
	extend();
	for (unsigned int region = 0; region < 4; region++)
		for (unsigned int right = 1; right < 4; right++)
			if (region != right)
				oversteps(region, right);
}

static void is_overstepped(void)
{
	static const uint8_t zeros[64];

	extend();
	for (int i = 0; i < OVERSTEPS; i++) {
		struct side s = {};
		struct ibv_mr *mr;

		accept_side(&s, 0);
		IS(mr = ibv_reg_mr(s.pd, s.memory, 64, rights[told()]));
		tell((uintptr_t)s.memory);
		tell(mr->rkey);
		await_end(&s);
		IS(!memcmp(s.memory, zeros, 64));
		IS(!ibv_dereg_mr(mr));
		free_side(&s);
		meet();
	}
}

static void connects_after(struct side *s, int (*posts)(struct side *, struct place),
			   enum ibv_wc_status status)
{
	resolve(s, peer_host, (uint16_t)atoi(peer_port));
	add_queues(s);
	IS(!rdma_connect(s->id, NULL));
	IS(!posts(s, told_place()));
	IS(!post(s, IBV_WR_SEND, 4, 16, 0));
	tell(1);
	IS(!take_event(s->channel, RDMA_CM_EVENT_ESTABLISHED));
	fails(s, 3, status);
	fails(s, 4, IBV_WC_WR_FLUSH_ERR);
	await_end(s);
	free_side(s);
	meet();
}

/* Its region is gone when the answer comes. */
static int reads_into_nothing(struct side *s, struct place at)
{
	struct ibv_mr *mr = ibv_reg_mr(s->pd, s->memory, 16, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge = { (uintptr_t)s->memory, 16, mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 3,
				  .opcode = IBV_WR_RDMA_READ,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .wr.rdma = { at.addr, at.rkey } },
			   *bad;
	int rc = ibv_post_send(s->id->qp, &wr, &bad);

	IS(!ibv_dereg_mr(mr));
	return rc;
}

/* What is posted before there is a connection, and turns out to be impossible. */
static void posts_early(void)
{
	struct side s = {};

	connects_after(&s, post_atomic, IBV_WC_REM_INV_REQ_ERR);
	extend();
	connects_after(&s, reads_into_nothing, IBV_WC_LOC_PROT_ERR);
	connects_after(&s, post_atomic, IBV_WC_REM_INV_REQ_ERR);
	/* When it is known that the peer has no atomic operations, none can be posted. */
	connect_side(&s);
	IS(post_atomic(&s, told_place()) == EOPNOTSUPP);
	ends(&s);
}

static void accepts_later(void)
{
	struct side s = {};

	for (int i = 0; i < 3; i++) {
		get_request(&s);
		add_queues(&s);
		tell_place(&s);
		IS(told() == 1);
		IS(!rdma_accept(s.id, NULL));
		IS(!take_event(s.channel, RDMA_CM_EVENT_ESTABLISHED));
		await_end(&s);
		free_side(&s);
		meet();
	}
	accept_side(&s, 0);
	tell_place(&s);
	waits(&s);
}

/* ---- lists ------------------------------------------------------------------------------------------- */

#define CHAIN 12 /* more than once, it crosses the end of a ring */

static void sends_chains(void)
{
	struct side s = {};

	connect_side(&s);
	for (uint32_t i = 0; i < 5; i++) {
		struct ibv_send_wr wr[CHAIN] = {}, *bad;
		struct ibv_sge sge[CHAIN][2];

		for (uint32_t k = 0; k < CHAIN; k++) {
			const uint32_t n = i * CHAIN + k;

			sge[k][0] = sge_of(&s, 0, n);
			sge[k][1] = sge_of(&s, n, 1);
			wr[k] = (struct ibv_send_wr){ .wr_id = k,
						      .next = k < CHAIN - 1 ? &wr[k + 1] : NULL,
						      .sg_list = sge[k],
						      .num_sge = 2,
						      .opcode = IBV_WR_SEND,
						      .send_flags = IBV_SEND_SIGNALED };
			/* In places where others have been. */
			if (n >= DEPTH)
				wr[k].send_flags |= IBV_SEND_INLINE;
		}
		IS(told() == i);
		IS(!ibv_post_send(s.id->qp, wr, &bad));
		for (uint32_t k = 0; k < CHAIN; k++)
			completed(s.cq, k, IBV_WC_SUCCESS);
	}
	ends(&s);
}

static void takes_chains(void)
{
	struct side s = {};

	accept_side(&s, 0);
	for (uint32_t i = 0; i < 5; i++) {
		struct ibv_recv_wr wr[CHAIN] = {}, *bad;
		struct ibv_sge sge[CHAIN];

		for (uint32_t k = 0; k < CHAIN; k++) {
			sge[k] = sge_of(&s, k * 64, 64);
			wr[k] = (struct ibv_recv_wr){ .wr_id = k,
						      .next = k < CHAIN - 1 ? &wr[k + 1] : NULL,
						      .sg_list = &sge[k],
						      .num_sge = 1 };
		}
		IS(!ibv_post_recv(s.id->qp, wr, &bad));
		tell(i);
		for (uint32_t k = 0; k < CHAIN; k++)
			IS(receives(&s, k).byte_len == i * CHAIN + k + 1);
	}
	waits(&s);
}

const struct verbs_case cases_of_completions[] = {
	{ "completions", does_each, is_told },
	{ "wrong-word", asks_wrong_word, has_words },
	{ "missing-rights", oversteps_each, is_overstepped },
	{ "posted-early", posts_early, accepts_later },
	{ "chains", sends_chains, takes_chains },
	{},
};
