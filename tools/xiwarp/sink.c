// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * `xiwarp sink`: one buffer behind one STag, posted buffers on the untagged queues, and an account of what came.
 */
#include "sink.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exit.h"
#include "out.h"
#include "receiver_opts.h"
#include "signals.h"
#include "telling.h"
#include "text.h"

#define RECVS 16 /* posted buffers per queue and connection */

struct sink {
	struct xiw_receiver receiver;
	struct xiw_group_region *region;
	uint8_t *buf;
	uint64_t *high; /* of all threads: end of the highest octet delivered */
	const struct xiw_out *out; /* NULL: none */
};

static struct sink *sink_of(const struct xiw_peer *peer)
{
	return (struct sink *)peer->receiver;
}

static struct xiw_sink_peer *sink_peer(struct xiw_peer *peer)
{
	return (struct xiw_sink_peer *)peer;
}

/* ---- connections --------------------------------------------------------------------------------- */

static int post_recv(const struct xiw_sink_peer *p, uint32_t qn, uint64_t index)
{
	const uint32_t size = p->peer.receiver->args->sink.recv_size;

	return xiw_conn_post_recv(p->peer.conn, qn, p->recv + (size_t)index * size, size, index);
}

static int answer(const struct xiw_peer *peer)
{
	const struct xiw_args *args = peer->receiver->args;
	const char *pd = args->sink.private_data;
	size_t len = pd ? strlen(pd) : 0;

	return args->sink.reject ? xiw_conn_reject(peer->conn, pd, len)
				 : xiw_conn_accept(peer->conn, pd, len);
}

static int on_request(struct xiw_peer *peer)
{
	const struct xiw_args *args = peer->receiver->args;
	struct xiw_sink_peer *p = sink_peer(peer);
	uint64_t index = 0;
	int err;

	p->recv = malloc((size_t)args->sink.queues * RECVS * args->sink.recv_size);
	if (!p->recv)
		return -ENOMEM;
	for (uint32_t qn = 0; qn < args->sink.queues; qn++) {
		for (int i = 0; i < RECVS; i++) {
			err = post_recv(p, qn, index++);
			if (err)
				return err;
		}
	}
	return answer(peer);
}

/* The time of a connection begins with its first octet, to the precision of a turn of the engine. */
static void note_first(struct xiw_peer *peer)
{
	struct xiw_sink_peer *p = sink_peer(peer);
	struct xiw_conn_info info;

	p->later = p->first_ns;
	if (p->first_ns)
		return;
	xiw_conn_info(peer->conn, &info, sizeof(info));
	if (info.octets_direct + info.octets_kernel)
		p->first_ns = p->last_ns = xiw_now_ns();
}

static void raise(uint64_t *high, uint64_t end)
{
	uint64_t was = __atomic_load_n(high, __ATOMIC_RELAXED);

	while (was < end && !__atomic_compare_exchange_n(high, &was, end, true, __ATOMIC_RELAXED,
							 __ATOMIC_RELAXED))
		;
}

static void on_data(struct xiw_sink_peer *p, const struct xiw_completion *c)
{
	struct sink *s = sink_of(&p->peer);
	const uint64_t end = c->to + c->length;

	if (c->status)
		return;
	/* What comes in one turn has no time that could be told. */
	if (p->later)
		p->last_ns = xiw_now_ns();
	if (c->event == XIW_EV_WRITTEN) {
		p->tagged++;
		p->tagged_octets += c->length;
		if (c->length && end <= s->receiver.args->sink.size)
			raise(s->high, end);
		return;
	}
	p->untagged++;
	p->untagged_octets += c->length;
	post_recv(p, c->qn, c->user_data);
}

static void on_completion(struct xiw_peer *peer, const struct xiw_completion *c)
{
	if (c->event == XIW_EV_WRITTEN || c->event == XIW_EV_RECEIVED)
		on_data(sink_peer(peer), c);
	else if (c->event == XIW_EV_ERROR)
		xiw_conn_abort(peer->conn);
	else if (c->event == XIW_EV_EOF)
		xiw_conn_close(peer->conn);
}

static void on_ended(struct xiw_peer *peer, bool stopped)
{
	const struct sink *s = sink_of(peer);
	struct xiw_conn_info info;
	bool failed;

	(void)stopped;
	xiw_conn_info(peer->conn, &info, sizeof(info));
	failed = info.mpa_error || info.ddp_error || (info.error && !info.rejected);
	if (peer->receiver->args->json || !failed || xiw_may_tell())
		xiw_sink_report(sink_peer(peer), &info);
	/* Up to the highest octet delivered. */
	if (s->out && xiw_out_write(s->out, s->buf, __atomic_load_n(s->high, __ATOMIC_RELAXED)))
		xiw_receiver_fail(peer->receiver, XIW_EXIT_FAILURE);
	if (failed)
		xiw_receiver_fail(peer->receiver, XIW_EXIT_PEER);
}

static void release(struct xiw_peer *peer)
{
	free(sink_peer(peer)->recv);
}

static const struct xiw_receiver_ops ops = {
	.receiver_size = sizeof(struct sink),
	.peer_size = sizeof(struct xiw_sink_peer),
	.request = on_request,
	.turned = note_first,
	.completion = on_completion,
	.ended = on_ended,
	.release = release,
	.count_failed_startups = true,
};

/* ---- the command --------------------------------------------------------------------------------- */

static int open_buffer(struct sink *s, const struct xiw_args *args)
{
	const uint64_t size = args->sink.size;
	struct xiw_region_opts opts = { .size = sizeof(opts),
					.stag = args->sink.stag_given ? &args->sink.stag : NULL };
	char name[80];
	void *memory;
	int err;

	if (xiw_memory_alloc(size, 0, &memory))
		return xiw_fail(XIW_EXIT_FAILURE, "no memory for --size %" PRIu64, size);
	s->buf = memory;
	err = xiw_group_region_register(s->receiver.all->group, s->buf, size, &opts, &s->region);
	if (err)
		return xiw_fail(XIW_EXIT_FAILURE, "cannot register the buffer: %s", strerror(-err));
	fprintf(stderr, "xiwarp: sink on %s, STag 0x%08x, TO 0 to %" PRIu64 "\n",
		xiw_receiver_addr(&s->receiver, name), xiw_group_region_stag(s->region), size - 1);
	return 0;
}

static int run_sink(const struct xiw_args *args)
{
	struct xiw_conn_opts opts = { .size = sizeof(opts),
				      .markers = args->mpa.markers,
				      .no_crc = args->mpa.crc_off,
				      .revision = args->mpa.revision,
				      .queues = args->sink.queues,
				      .recv_depth = RECVS };
	struct xiw_out out;
	uint64_t high = 0;
	struct sink s = { .high = &high,
			  .out = args->sink.out ? &out : NULL,
			  .receiver = { .args = args,
					.ops = &ops,
					.listen = args->receiver.listen,
					.output_dir = args->sink.out ? out.where : NULL,
					.once = args->receiver.once } };
	int code = args->sink.out ? xiw_out_look("--out", args->sink.out, &out) : 0;

	if (code)
		return code;
	xiw_catch_signals();
	code = xiw_receiver_open(&s.receiver, &opts);
	if (code)
		return xiw_exit_stopped(code);
	code = open_buffer(&s, args);
	if (!code)
		code = xiw_receiver_run(&s.receiver);
	xiw_group_region_free(s.region);
	xiw_receiver_close(&s.receiver);
	xiw_memory_free(s.buf, args->sink.size);
	return xiw_exit_stopped(code);
}

static int set_stag(const struct xiw_opt *opt, const char *value, struct xiw_args *args)
{
	args->sink.stag_given = true;
	return xiw_set_number(opt, value, args);
}

static const struct xiw_opt sink_opts[] = {
	XIW_RECEIVER_OPTS,
	{ "stag", .arg = "N",
	  .help = "the buffer's STag, decimal or 0x; default: chosen, and shown", .set = set_stag,
	  .max = UINT32_MAX, XIW_SETS(sink.stag) },
	{ "size", .arg = "BYTES",
	  .help = "the buffer's size, TO 0 and up (K, M, G allowed); default 64M",
	  XIW_SIZE(sink.size, 1, 1ull << 46) },
	{ "out", .arg = "FILE",
	  .help = "at each connection's end, write the buffer, up to the highest octet "
		  "delivered, to FILE. A regular file is replaced when all is written; a device or "
		  "a FIFO is written to",
	  XIW_TEXT(sink.out, 1, SIZE_MAX, "a file") },
	XIW_OPT_MARKERS,
	XIW_OPT_CRC,
	{ "queues", .arg = "N", .help = "untagged queues, QN 0 to N-1; default 3",
	  XIW_NUMBER(sink.queues, 1, 256) },
	{ "recv-size", .arg = "BYTES",
	  .help = "size of the buffers posted for untagged messages; default 64K",
	  XIW_SIZE(sink.recv_size, 1, 1u << 30) },
	{ "rev", .arg = "1|2",
	  .help = "the highest MPA revision to accept; 2 is that of RFC 6581; default 2",
	  XIW_NUMBER(mpa.revision, 1, 2) },
	{ "private-data", .arg = "TEXT",
	  .help = "Private Data of the MPA Reply, at most 512 octets, or 508 if the Request has "
		  "the data of RFC 6581",
	  XIW_TEXT(sink.private_data, 0, XIW_PRIVATE_DATA_MAX, "at most 512 octets") },
	{ "reject", .help = "reject every connection", XIW_FLAG(sink.reject) },
	{},
};

const struct xiw_cmd xiw_cmd_sink = {
	.name = "sink",
	.synopsis = "",
	.summary = "accept what any MPA/DDP peer sends, and give an account of it",
	.text = "Registers one buffer, listens, and accepts. Tagged messages are placed in the "
		"buffer; untagged ones are received and counted. The report at each connection's "
		"end has octets and segments by path, FPDUs, messages, hand-offs, refused "
		"segments by reason, and errors with the numbers of RFC 5044 section 8 and RFC "
		"5041 section 7.2. All connections share the one buffer. Of connections that "
		"fail, 20 are shown in 12 seconds, and the others counted; with --json all have a "
		"report. " XIW_SHARE_TEXT "\n\n"
		"Runs until SIGINT or SIGTERM, or with --once until a connection has ended "
		"and no other is open; then the exit code is 7 if one ended in an error.",
	.examples = "sudo xiwarp sink --stag 0x1234 --size 1G --once --json\n"
		    "xiwarp sink --path kernel --markers --out received.bin\n",
	.opts = sink_opts,
	.min_words = 0,
	.max_words = 0,
	.run = run_sink,
};
