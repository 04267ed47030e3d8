// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The library's end of rdmap.c: an application on RDMAP that does what a line over a control connection says, and
 * answers with the events that it saw.
 *
 *   rdmap_end CONTROL-PORT kernel|direct
 *
 * A line is `key=value ...`: see struct line. The first answer is `ready`, when a peer may connect or is
 * connected to, the second the result. Exit codes: 0 the control connection was closed, 1 not so, 2 usage.
 */
#include <sys/mman.h>

#include "tests/net/peer/end.h"

/* Regions: all begin at TO BASE, and all but one are of the connections' domain. */
#define BASE 0x10000
#define READ_SIZE (4u << 20)
#define SIZE 65536
enum { S_READ, S_WRITE, S_OTHER_PD, S_NONE, S_WORDS, S_INV, S_COUNT };
static const uint32_t stags[S_COUNT] = { 0x1111, 0x2222, 0x3333, 0x6666, 0x7777, 0x5555 };

#define RECVS 4
#define RECV_SIZE 4096
#define OPS_MAX 16
#define PATIENCE_MS 12000
#define UNUSED_OCTET 0xee

static struct end {
	struct xiw_engine *engine;
	enum xiw_use_path path;
	struct xiw_listener *listener;
	struct xiw_conn *conn;
	struct xiw_rdma *rdma;
	struct xiw_region *regions[S_COUNT];
	uint8_t *mem[S_COUNT];
	uint8_t recv[RECVS][RECV_SIZE];
	uint8_t out[SIZE];
	uint8_t plain[SIZE]; /* Read i goes to 1000 * i; UNUSED_OCTET where none is under way */

	struct line {
		int port;
		char role; /* r, i */
		char ops[OPS_MAX +
			 1]; /* posted when connected: s S v V sends, w write, r read, p read into plain memory,
			      * f fenced send, T; RFC 7306: m M immediates, x write and immediate, a add,
			      * c compare and swap */
		int len;     /* of each */
		/* rev=0: the revision and the depths of the connection's options are left open. */
		int ird, ord, rev, markers, depth, extended;
		int rtr;	      /* unless given, an Initiator uses XIW_RTR_NONE */
		int pd;		      /* octets of Private Data */
		int rlen;	      /* of the posted buffers */
		int set_ird, set_ord; /* unless negative, when the Request has come */
		int set_first;	      /* and before the stream is attached */
		/*
		 * The first Send: r the READ region goes; R and another gets its STag; W likewise for WRITE, and a
		 * Send tells that; n READ has no rights; i INV's STag again; T terminate; c close; C that, and r;
		 * p posts Read p again.
		 */
		int on_send;
	} line;

	bool closed, replaced, source_replaced;
	uint64_t lengths;
	uint64_t values; /* the sum of Immediate Data and of what atomic operations found */
	uint32_t solicited, invalidated, last_stag;
	uint32_t under_way; /* a bit for each Read into plain memory */
	int status, post_error;
	char sent[64], received[64];
} e;

/* ---- memory -------------------------------------------------------------------------------------- */

static size_t size_of(int i)
{
	return i == S_READ ? READ_SIZE : SIZE;
}

/* The region that a peer may invalidate is bound to its connection (RFC 5040 section 8.1.1 rule 7). */
static void make_region(int i)
{
	static const unsigned int access[S_COUNT] = {
		XIW_ACCESS_READ,
		XIW_ACCESS_WRITE,
		XIW_ACCESS_READ | XIW_ACCESS_WRITE | XIW_ACCESS_ATOMIC,
		XIW_ACCESS_NONE,
		XIW_ACCESS_ATOMIC,
		XIW_ACCESS_WRITE
	};
	struct xiw_region_opts o = { .size = sizeof(o),
				     .base_to = BASE,
				     .stag = &stags[i],
				     .access = access[i],
				     .conn = i == S_INV ? e.conn : NULL,
				     .pd = i == S_OTHER_PD ? 7 : 0 };

	e.mem[i] =
		mmap(NULL, size_of(i), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (size_t k = 0; k < size_of(i); k++)
		e.mem[i][k] = octet(k);
	if (xiw_region_register(e.engine, e.mem[i], size_of(i), &o, &e.regions[i]))
		exit(1);
}

/* Frees the region and unmaps its memory: an access now crashes. */
static void drop_region(int i)
{
	xiw_region_free(e.regions[i]);
	e.regions[i] = NULL;
	if (e.mem[i])
		munmap(e.mem[i], size_of(i));
	e.mem[i] = NULL;
}

/* Gives the STag to another region with other octets. */
static void replace_region(int i)
{
	drop_region(i);
	make_region(i);
	for (size_t k = 0; k < size_of(i); k++)
		e.mem[i][k] = (uint8_t)~octet(k);
}

/* A peer has invalidated the STag, and another region gets it before the old one is freed. */
static void reuse_stag(void)
{
	struct xiw_region *old = e.regions[S_INV];
	uint8_t *mem = e.mem[S_INV];

	make_region(S_INV);
	xiw_region_free(old);
	munmap(mem, size_of(S_INV));
}

/* ---- what the line says -------------------------------------------------------------------------- */

static void take_word(void *ctx, const char *key, const char *value)
{
	(void)ctx;
	if (!strcmp(key, "role"))
		e.line.role = *value;
	else if (!strcmp(key, "ops"))
		snprintf(e.line.ops, sizeof(e.line.ops), "%s", value);
	else if (!strcmp(key, "on_send"))
		e.line.on_send = *value;
	else
		die("no key %s", key);
}

static bool take_line(void)
{
	static const struct number numbers[] = {
		{ "port", &e.line.port },	{ "len", &e.line.len },
		{ "ird", &e.line.ird },		{ "ord", &e.line.ord },
		{ "rtr", &e.line.rtr },		{ "rev", &e.line.rev },
		{ "markers", &e.line.markers }, { "depth", &e.line.depth },
		{ "ext", &e.line.extended },	{ "rlen", &e.line.rlen },
		{ "pd", &e.line.pd },		{ "setird", &e.line.set_ird },
		{ "setord", &e.line.set_ord },	{ "setfirst", &e.line.set_first },
	};

	e.line = (struct line){ .role = 'r',
				.rlen = RECV_SIZE,
				.len = 100,
				.ird = 4,
				.ord = 4,
				.rev = 2,
				.set_ird = -1,
				.set_ord = -1,
				.rtr = -1 };
	if (!take_words(numbers, sizeof(numbers) / sizeof(numbers[0]), take_word, NULL))
		return false;
	if (e.line.rtr < 0)
		e.line.rtr = e.line.role == 'i' ? XIW_RTR_NONE : 0;
	return true;
}

static enum xiw_rdma_kind kind_of(char op)
{
	static const enum xiw_rdma_kind kinds[128] = {
		['w'] = XIW_RDMA_WRITE,		  ['r'] = XIW_RDMA_READ,
		['p'] = XIW_RDMA_READ,
		['m'] = XIW_RDMA_IMMEDIATE,	  ['M'] = XIW_RDMA_IMMEDIATE,
		['x'] = XIW_RDMA_WRITE_IMMEDIATE, ['a'] = XIW_RDMA_FETCH_ADD,
		['c'] = XIW_RDMA_CMP_SWAP,
	};

	return kinds[op & 127]; /* XIW_RDMA_SEND is 0 */
}

static unsigned int flags_of(char op)
{
	static const uint8_t flags[128] = {
		['S'] = XIW_RDMA_SOLICITED,  ['M'] = XIW_RDMA_SOLICITED,
		['v'] = XIW_RDMA_INVALIDATE, ['V'] = XIW_RDMA_INVALIDATE | XIW_RDMA_SOLICITED,
		['f'] = XIW_RDMA_FENCE,
	};

	return flags[op & 127];
}

static void post_ops(const char *ops)
{
	static const struct xiw_rdma_atomic operands = { 5, 0x8000, 0x0102030405060708, 0xff };

	for (size_t i = 0; ops[i]; i++) {
		struct xiw_rdma_op op = {
			.kind = kind_of(ops[i]),
			.flags = flags_of(ops[i]),
			.len = (uint64_t)e.line.len,
			.stag = 0x9999,
			.to = 0x500000000ull + i,
			.sink_stag = stags[S_WRITE],
			.sink_to = BASE + 1000 * i,
			.invalidate = 0x12345678,
			.user_data = i,
		};
		int err;

		if (op.kind == XIW_RDMA_FETCH_ADD || op.kind == XIW_RDMA_CMP_SWAP)
			op.atomic = &operands, op.len = 0;
		else if (op.kind == XIW_RDMA_IMMEDIATE)
			op.len = 0;
		else if (ops[i] == 'p')
			op.buf = e.plain + 1000 * i, op.sink_stag = 0, op.sink_to = 0;
		else if (op.kind != XIW_RDMA_READ)
			op.buf = e.out;
		if (op.kind == XIW_RDMA_IMMEDIATE || op.kind == XIW_RDMA_WRITE_IMMEDIATE)
			op.immediate = 0x1122334455667700 + i;

		if (ops[i] == 'T') {
			xiw_rdma_terminate(e.rdma);
			continue;
		}
		err = xiw_rdma_post(e.rdma, &op);
		e.under_way |= (uint32_t)(ops[i] == 'p' && !err) << i;
		if (err && !e.post_error)
			e.post_error = err;
	}
}

static void set_depths(struct xiw_conn *c)
{
	const int ord = e.line.set_ord < 0 ? e.line.ord : e.line.set_ord;

	if (e.line.set_ird >= 0 && xiw_conn_set_depths(c, (uint16_t)e.line.set_ird, (uint16_t)ord))
		exit(1);
}

static void attach(struct xiw_conn *c)
{
	struct xiw_rdma_opts o = { .size = sizeof(o),
				   .ird = (uint16_t)e.line.ird,
				   .ord = (uint16_t)e.line.ord,
				   .extended = e.line.extended };

	e.conn = c;
	if (xiw_rdma_attach(c, &o, &e.rdma))
		exit(1);
	make_region(S_INV);
	for (int i = 0; i < RECVS; i++)
		xiw_rdma_post_recv(e.rdma, e.recv[i], (uint32_t)e.line.rlen, (uint64_t)i);
}

/* ---- completions --------------------------------------------------------------------------------- */

static void on_send(const struct xiw_completion *c)
{
	uint64_t value;

	if (xiw_rdma_immediate(c, &value)) {
		e.values += value;
		for (unsigned int i = 0; i < 8 && e.line.rlen >= 8; i++)
			if (e.recv[c->user_data][i] != (uint8_t)(value >> (56 - 8 * i)))
				add_event('?');
	}
	e.lengths += c->length;
	if (xiw_rdma_solicited(c))
		e.solicited++;
	if (xiw_rdma_invalidated(c)) {
		e.invalidated++;
		e.last_stag = c->stag;
	}
	for (uint64_t i = 0; i < c->length && !xiw_rdma_immediate(c, &value); i++)
		if (e.recv[c->user_data][i] != octet(i)) {
			add_event('?');
			break;
		}
	xiw_rdma_post_recv(e.rdma, e.recv[c->user_data], (uint32_t)e.line.rlen, c->user_data);
	if (e.line.on_send == 'r')
		drop_region(S_READ);
	else if (e.line.on_send == 'R')
		replace_region(S_READ), e.source_replaced = true;
	else if (e.line.on_send == 'W')
		replace_region(S_WRITE), e.replaced = true, post_ops("s");
	else if (e.line.on_send == 'T')
		xiw_rdma_terminate(e.rdma);
	else if (e.line.on_send == 'c')
		xiw_rdma_close(e.rdma);
	else if (e.line.on_send == 'C')
		xiw_rdma_close(e.rdma), drop_region(S_READ);
	else if (e.line.on_send == 'i')
		reuse_stag(), post_ops("s");
	else if (e.line.on_send == 'p')
		post_ops("p");
	else if (e.line.on_send == 'n')
		xiw_region_set_access(e.regions[S_READ], XIW_ACCESS_NONE);
	e.line.on_send = 0;
}

static void on_read(const struct xiw_completion *c)
{
	const bool to_plain = e.under_way >> c->user_data & 1;
	uint8_t *at = (to_plain ? e.plain : e.mem[S_WRITE]) + 1000 * c->user_data;

	for (uint64_t i = 0; i < c->length; i++)
		if (at[i] != octet(i + 7)) {
			add_event('?');
			break;
		}
	if (to_plain)
		memset(at, UNUSED_OCTET, c->length);
	e.under_way &= ~(1u << c->user_data);
}

static void handle(const struct xiw_completion *c)
{
	/* Receive buffers that come back are not reported. */
	if (c->event != XIW_EV_FLUSHED || c->length || c->stag)
		note_event(c->event);
	switch (c->event) {
	case XIW_EV_REQUEST:
		if (e.line.set_first)
			set_depths(c->conn);
		attach(c->conn);
		if (!e.line.set_first)
			set_depths(c->conn);
		xiw_conn_accept(c->conn, NULL, 0);
		break;
	case XIW_EV_CONNECTED:
		post_ops(e.line.ops);
		break;
	case XIW_EV_RECEIVED:
		on_send(c);
		break;
	case XIW_EV_READ:
		on_read(c);
		break;
	case XIW_EV_ATOMIC:
		e.values += c->value;
		break;
	case XIW_EV_EOF:
		xiw_rdma_close(e.rdma);
		break;
	case XIW_EV_CLOSED:
		e.status = c->status;
		e.closed = true;
		break;
	default:
		break;
	}
}

/* ---- one connection ------------------------------------------------------------------------------ */

static void open_end(void)
{
	struct xiw_conn *c;
	struct xiw_conn_opts o = {
		.size = sizeof(o),
		.path = e.path,
		.markers = e.line.markers,
		.rtr = (uint8_t)e.line.rtr,
		.revision = (uint8_t)e.line.rev,
		.send_depth = (unsigned int)e.line.depth,
		.private_data = e.out,
		.private_data_len = (size_t)e.line.pd,
	};

	if (e.line.rev == 2) {
		o.ird = (uint16_t)e.line.ird;
		o.ord = (uint16_t)e.line.ord;
		o.enhanced = e.line.role == 'i';
	}
	c = open_as(e.line.role, e.line.port, e.engine, &o, &e.listener);
	if (c)
		attach(c);
}

/* How many octets of the WRITE region have changed. */
static unsigned int touched(void)
{
	unsigned int n = 0;

	for (size_t k = 0; k < SIZE; k++)
		n += e.mem[S_WRITE][k] != (e.replaced ? (uint8_t)~octet(k) : octet(k));
	return n;
}

/* Octets of plain memory that no Read was to write, or no longer. */
static unsigned int strays(void)
{
	unsigned int n = 0;

	for (size_t k = 0; k < SIZE; k++)
		n += e.plain[k] != UNUSED_OCTET &&
		     !(k / 1000 < OPS_MAX && e.under_way >> k / 1000 & 1 &&
		       k % 1000 < (size_t)e.line.len);
	return n;
}

static void report(void)
{
	struct xiw_conn_info info;
	struct xiw_rdma_info r;

	xiw_conn_info(e.conn, &info, sizeof(info));
	xiw_rdma_info(e.rdma, &r, sizeof(r));
	terminate_text(e.sent, &r.sent);
	terminate_text(e.received, &r.received);
	say("events=%s status=%d sent=%s received=%s sends=%llu/%llu writes=%llu/%llu "
	    "reads=%llu/%llu "
	    "write_octets=%llu read_octets=%llu/%llu lengths=%llu solicited=%u invalidated=%u "
	    "inv_stag=%x ird=%u "
	    "ord=%u post=%d direct=%d touched=%u immediates=%llu/%llu atomics=%llu/%llu "
	    "values=%llx strays=%u",
	    events, e.status, e.sent, e.received, (unsigned long long)r.sends_in,
	    (unsigned long long)r.sends_out, (unsigned long long)r.writes_in,
	    (unsigned long long)r.writes_out, (unsigned long long)r.reads_in,
	    (unsigned long long)r.reads_out, (unsigned long long)r.write_octets_in,
	    (unsigned long long)r.read_octets_in, (unsigned long long)r.read_octets_out,
	    (unsigned long long)e.lengths, e.solicited, e.invalidated, e.last_stag, r.ird, r.ord,
	    e.post_error, info.went_direct > 0, touched(), (unsigned long long)r.immediates_in,
	    (unsigned long long)r.immediates_out, (unsigned long long)r.atomics_in,
	    (unsigned long long)r.atomics_out, (unsigned long long)e.values, strays());
}

static void serve(void)
{
	uint64_t until = now_ms() + PATIENCE_MS;
	struct xiw_completion c;

	events[0] = '\0';
	e.closed = e.replaced = e.source_replaced = false;
	e.conn = NULL;
	e.rdma = NULL;
	e.values = 0;
	e.lengths = e.solicited = e.invalidated = e.last_stag = 0;
	e.status = e.post_error = 0;
	e.under_way = 0;
	memset(e.plain, UNUSED_OCTET, sizeof(e.plain));
	for (int i = 0; i < S_COUNT; i++)
		if (i != S_INV && !e.regions[i])
			make_region(i);
	open_end();
	while (!e.closed && now_ms() < until) {
		xiw_engine_run(e.engine, 20);
		while (xiw_engine_next(e.engine, &c) > 0)
			handle(&c);
	}
	/* A socket is closed when its operations have ended. */
	for (int i = 0; e.closed && i < 5; i++)
		xiw_engine_run(e.engine, 1);
	if (e.rdma)
		report();
	else
		say("events=none");
	xiw_conn_free(e.conn);
	xiw_listener_free(e.listener);
	e.listener = NULL;
	/* Restores what a case may have changed. */
	drop_region(S_INV);
	if (e.replaced)
		drop_region(S_WRITE);
	else
		for (size_t k = 0; k < SIZE; k++)
			e.mem[S_WRITE][k] = octet(k);
	for (size_t k = 0; k < SIZE; k++)
		e.mem[S_WORDS][k] = octet(k);
	if (e.source_replaced)
		drop_region(S_READ);
	if (e.regions[S_READ])
		xiw_region_set_access(e.regions[S_READ], XIW_ACCESS_READ);
}

int main(int argc, char **argv)
{
	struct xiw_engine_opts o = { .size = sizeof(o), .app_ring_fd = -1 };

	e.path = await_control(argc, argv);
	for (size_t i = 0; i < sizeof(e.out); i++)
		e.out[i] = octet(i);
	if (xiw_engine_create(&o, &e.engine))
		return 1;
	while (take_line())
		serve();
	for (int i = 0; i < S_COUNT; i++)
		drop_region(i);
	xiw_engine_destroy(e.engine);
	close(control);
	return 0;
}
