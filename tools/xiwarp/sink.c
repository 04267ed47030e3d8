// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A plain DDP data sink: one buffer behind one STag, posted buffers on the untagged queues, and an
 * account of what came.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <fcntl.h>

#include "cli.h"

#define RECVS 16 /* per queue and connection */

struct peer {
	struct peer *next;
	struct xiw_conn *conn;
	char name[80];
	uint8_t *recv; /* queues * RECVS buffers */
	uint64_t tagged, tagged_octets, untagged, untagged_octets;
	uint64_t first_ns, last_ns;
};

struct sink {
	const struct xiw_args *args;
	struct xiw_engine *engine;
	struct xiw_listener *listener;
	struct xiw_region *region;
	uint8_t *buf;
	uint64_t size, high; /* high: end of the highest octet delivered */
	uint32_t queues, recv_size;
	struct peer *peers;
	unsigned int ended;
	int code;
};

static double seconds_of(const struct peer *p)
{
	return (double)(p->last_ns - p->first_ns) / 1e9;
}

static void report_text(const struct peer *p, const struct xiw_conn_info *i)
{
	char direct[32], kernel[32], text[256], local[80];
	const char *why = xiw_end_text(i, text);
	double s = seconds_of(p);
	int n = 0;

	printf("%s -> %s: %s\n", p->name, xiw_addr_name(&i->local, local), why ? why : "orderly");
	printf("  %-10s %s in %" PRIu64 " segments (%.2f %% of octets)\n", "direct",
	       xiw_octets(i->octets_direct, direct), i->segments_direct,
	       100 * xiw_share(i->octets_direct, i->octets_kernel));
	printf("  %-10s %s in %" PRIu64 " segments%s%s\n", "kernel",
	       xiw_octets(i->octets_kernel, kernel), i->segments_kernel,
	       *i->no_direct ? "; no direct path: " : "", i->no_direct);
	printf("  %-10s %" PRIu64 " FPDUs; %" PRIu64 " tagged messages, %" PRIu64
	       " octets; %" PRIu64 " untagged, %" PRIu64 " octets\n",
	       "received", i->fpdus, p->tagged, p->tagged_octets, p->untagged, p->untagged_octets);
	if (s > 0)
		printf("  %-10s %s, %s\n", "time", xiw_seconds(s, direct),
		       xiw_rate(i->octets_direct + i->octets_kernel, s, kernel));
	printf("  %-10s to direct %" PRIu64 ", to kernel %" PRIu64, "hand-offs", i->went_direct,
	       i->went_kernel);
	for (unsigned int w = 1; w < XIW_WHY__COUNT; w++)
		if (i->why[w])
			printf(", %s %u", xiw_reason_name(w), i->why[w]);
	printf("\n  %-10s crc %" PRIu64, "refused", i->crc_errors);
	for (unsigned int d = 0; d < XIW_DROPS_MAX; d++)
		if (i->drops[d] && xiw_drop_name(d))
			printf(", %s %" PRIu64, xiw_drop_name(d), i->drops[d]);
	if (i->error_header_len)
		printf("\n  %-10s ", "header");
	for (; n < (int)i->error_header_len && n < (int)sizeof(i->error_header); n++)
		printf("%02x", i->error_header[n]);
	putchar('\n');
	fflush(stdout);
}

static void report_errors(struct json_object *o, const struct xiw_conn_info *i)
{
	char hex[2 * sizeof(i->error_header) + 1] = "";

	xiw_json_u64(o, "mpa_error", i->mpa_error);
	if (i->mpa_error)
		xiw_json_str(o, "mpa_error_name", xiw_mpa_error_name(i->mpa_error));
	json_object_object_add(o, "ddp_error", json_object_new_boolean(i->ddp_error != XIW_DDP_OK));
	if (i->ddp_error) {
		xiw_json_u64(o, "ddp_error_type", i->ddp_error >> 8 & 0xff);
		xiw_json_u64(o, "ddp_error_code", i->ddp_error & 0xff);
		xiw_json_str(o, "ddp_error_name", xiw_ddp_error_name(i->ddp_error));
	}
	for (size_t n = 0; n < i->error_header_len && n < sizeof(i->error_header); n++)
		snprintf(hex + 2 * n, 3, "%02x", i->error_header[n]);
	xiw_json_str(o, "error_header", hex);
	xiw_json_str(o, "socket_error", i->error ? strerror(i->error) : "");
}

/* What the MPA Request asked for, and what came of it. */
static void report_startup(struct json_object *o, const struct peer *p,
			   const struct xiw_conn_info *i)
{
	char hex[2 * XIW_PRIVATE_DATA_MAX + 1] = "";
	const uint8_t *pd;
	size_t len;

	pd = xiw_conn_private_data(p->conn, &len);
	for (size_t n = 0; n < len && n < XIW_PRIVATE_DATA_MAX; n++)
		snprintf(hex + 2 * n, 3, "%02x", pd[n]);
	xiw_json_u64(o, "revision", i->revision);
	xiw_json_str(o, "private_data", hex);
	json_object_object_add(o, "rejected", json_object_new_boolean(i->rejected));
	json_object_object_add(o, "markers_in", json_object_new_boolean(i->markers_in));
	json_object_object_add(o, "markers_out", json_object_new_boolean(i->markers_out));
	json_object_object_add(o, "crc", json_object_new_boolean(i->crc));
	json_object_object_add(o, "enhanced", json_object_new_boolean(i->enhanced));
	if (!i->enhanced)
		return;
	json_object_object_add(o, "peer_to_peer", json_object_new_boolean(i->peer_to_peer));
	xiw_json_u64(o, "ird", i->ird);
	xiw_json_u64(o, "ord", i->ord);
	xiw_json_u64(o, "peer_ird", i->peer_ird);
	xiw_json_u64(o, "peer_ord", i->peer_ord);
}

static void report_json(const struct peer *p, const struct xiw_conn_info *i)
{
	struct json_object *o = json_object_new_object(), *drops = json_object_new_object();
	double s = seconds_of(p);
	char local[80];

	xiw_json_str(o, "peer", p->name);
	xiw_json_str(o, "local", xiw_addr_name(&i->local, local));
	xiw_json_str(o, "no_direct", i->no_direct);
	json_object_object_add(o, "zero_copy", json_object_new_boolean(i->zero_copy));
	report_startup(o, p, i);
	xiw_json_u64(o, "octets_direct", i->octets_direct);
	xiw_json_u64(o, "octets_kernel", i->octets_kernel);
	xiw_json_f(o, "direct_share", xiw_share(i->octets_direct, i->octets_kernel), "%.6f");
	xiw_json_u64(o, "stream_direct", i->stream_direct);
	xiw_json_u64(o, "stream_kernel", i->stream_kernel);
	xiw_json_u64(o, "segments_direct", i->segments_direct);
	xiw_json_u64(o, "segments_kernel", i->segments_kernel);
	xiw_json_u64(o, "fpdus", i->fpdus);
	xiw_json_u64(o, "messages", i->messages);
	xiw_json_u64(o, "tagged_messages", p->tagged);
	xiw_json_u64(o, "tagged_octets", p->tagged_octets);
	xiw_json_u64(o, "untagged_messages", p->untagged);
	xiw_json_u64(o, "untagged_octets", p->untagged_octets);
	xiw_json_u64(o, "fpdus_early", i->fpdus_early);
	xiw_json_f(o, "seconds", s, "%.9f");
	xiw_json_f(o, "gbit_per_s",
		   s > 0 ? (double)(i->octets_direct + i->octets_kernel) * 8 / s / 1e9 : 0, "%.4f");
	xiw_json_u64(o, "went_direct", i->went_direct);
	xiw_json_u64(o, "went_kernel", i->went_kernel);
	xiw_json_u64(o, "hand_offs", i->went_direct + i->went_kernel);
	xiw_json_reasons(o, "left_direct", i->why);
	xiw_json_u64(o, "acks_sent", i->acks_sent);
	xiw_json_u64(o, "injected", i->injected);
	xiw_json_u64(o, "armed", i->armed);
	xiw_json_u64(o, "segments_dropped", i->segments_dropped);
	xiw_json_u64(o, "challenges_withheld", i->challenges_withheld);
	xiw_json_u64(o, "crc_errors", i->crc_errors);
	for (unsigned int d = 0; d < XIW_DROPS_MAX; d++)
		if (i->drops[d] && xiw_drop_name(d))
			xiw_json_u64(drops, xiw_drop_name(d), i->drops[d]);
	json_object_object_add(o, "drops", drops);
	report_errors(o, i);
	xiw_json_print(o);
}

/* Writes all up to the highest octet that was delivered, and lets it appear whole or not at all. */
static int write_out(const struct sink *s)
{
	const char *path = s->args->out;
	char temp[4096], shown[256];
	uint64_t done = 0;
	int fd, err = 0;

	if ((size_t)snprintf(temp, sizeof(temp), "%s.%d.part", path, getpid()) >= sizeof(temp))
		return xiw_fail(XIW_EXIT_FAILURE, "--out: the name is too long");
	fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		err = errno;
	while (!err && done < s->high) {
		ssize_t n = write(fd, s->buf + done, s->high - done);

		if (n > 0)
			done += n;
		else if (errno != EINTR)
			err = errno;
	}
	if (fd >= 0 && close(fd) && !err)
		err = errno;
	if (!err && rename(temp, path))
		err = errno;
	if (!err)
		return 0;
	if (fd >= 0)
		unlink(temp);
	return xiw_fail(XIW_EXIT_FAILURE, "cannot write %s: %s",
			xiw_printable(path, shown, sizeof(shown)), strerror(err));
}

static uint8_t *recv_buf(const struct sink *s, const struct peer *p, uint64_t index)
{
	return p->recv + (size_t)index * s->recv_size;
}

static int answer(const struct sink *s, const struct peer *p)
{
	const char *pd = s->args->private_data;
	size_t len = pd ? strlen(pd) : 0;

	return s->args->reject ? xiw_conn_reject(p->conn, pd, len)
			       : xiw_conn_accept(p->conn, pd, len);
}

static int open_peer(struct sink *s, struct peer *p)
{
	uint64_t index = 0;
	int err;

	p->recv = malloc((size_t)s->queues * RECVS * s->recv_size);
	if (!p->recv)
		return -ENOMEM;
	for (uint32_t qn = 0; qn < s->queues; qn++) {
		for (int i = 0; i < RECVS; i++, index++) {
			err = xiw_conn_post_recv(p->conn, qn, recv_buf(s, p, index), s->recv_size,
						 index);
			if (err)
				return err;
		}
	}
	return answer(s, p);
}

static void on_request(struct sink *s, const struct xiw_completion *c)
{
	struct peer *p = calloc(1, sizeof(*p));
	struct xiw_conn_info info;
	int err = p ? 0 : -ENOMEM;

	if (p) {
		p->conn = c->conn;
		xiw_conn_info(p->conn, &info, sizeof(info));
		xiw_addr_name(&info.remote, p->name);
		err = open_peer(s, p);
	}
	if (err) {
		/* Its last event may be in the queue already: that frees it. */
		if (err != -ENOTCONN && err != -ESHUTDOWN)
			xiw_fail(0, "a connection was not accepted: %s", strerror(-err));
		xiw_conn_abort(c->conn);
		if (p)
			free(p->recv);
		free(p);
		return;
	}
	p->next = s->peers;
	s->peers = p;
}

static void on_data(struct sink *s, struct peer *p, const struct xiw_completion *c)
{
	if (c->status)
		return;
	p->last_ns = xiw_now_ns();
	if (c->event == XIW_EV_WRITTEN) {
		p->tagged++;
		p->tagged_octets += c->length;
		if (c->length && c->to + c->length > s->high && c->to + c->length <= s->size)
			s->high = c->to + c->length;
		return;
	}
	p->untagged++;
	p->untagged_octets += c->length;
	xiw_conn_post_recv(p->conn, c->qn, recv_buf(s, p, c->user_data), s->recv_size,
			   c->user_data);
}

static void on_closed(struct sink *s, struct peer *p)
{
	struct peer **link = &s->peers;
	struct xiw_conn_info info;
	int code = 0;

	xiw_conn_info(p->conn, &info, sizeof(info));
	if (s->args->json)
		report_json(p, &info);
	else
		report_text(p, &info);
	if (info.mpa_error || info.ddp_error || (info.error && !info.rejected))
		code = XIW_EXIT_PEER;
	while (*link != p)
		link = &(*link)->next;
	*link = p->next;
	xiw_conn_free(p->conn);
	free(p->recv);
	free(p);
	s->ended++;
	if (s->args->out && write_out(s))
		code = XIW_EXIT_FAILURE;
	if (code && !s->code)
		s->code = code;
}

static void on_completion(struct sink *s, const struct xiw_completion *c)
{
	struct peer *p = s->peers;

	if (c->event == XIW_EV_REQUEST) {
		on_request(s, c);
		return;
	}
	while (p && p->conn != c->conn)
		p = p->next;
	if (!p) {
		if (xiw_unknown_ended(c)) {
			s->ended++;
			s->code = s->code ? s->code : XIW_EXIT_PEER;
		}
		return;
	}
	if (c->event == XIW_EV_WRITTEN || c->event == XIW_EV_RECEIVED)
		on_data(s, p, c);
	else if (c->event == XIW_EV_ERROR)
		xiw_conn_abort(p->conn);
	else if (c->event == XIW_EV_EOF)
		xiw_conn_close(p->conn);
	else if (c->event == XIW_EV_CLOSED)
		on_closed(s, p);
}

/* The time of a connection begins with its first octet, as near as a turn of the engine. */
static void note_first(struct peer *p)
{
	struct xiw_conn_info info;

	if (p->first_ns)
		return;
	xiw_conn_info(p->conn, &info, sizeof(info));
	if (info.octets_direct + info.octets_kernel)
		p->first_ns = p->last_ns = xiw_now_ns();
}

static int loop(struct sink *s)
{
	struct xiw_completion c;
	int n;

	while (xiw_go_on() && !(s->args->once && s->ended && !s->peers)) {
		n = xiw_engine_run(s->engine, 500);
		if (n < 0 && n != -EINTR)
			return xiw_fail(XIW_EXIT_FAILURE, "the engine failed: %s", strerror(-n));
		for (struct peer *p = s->peers; p; p = p->next)
			note_first(p);
		while (xiw_engine_next(s->engine, &c) > 0)
			on_completion(s, &c);
	}
	/* Stopped: what is open is reported as far as it came. */
	while (s->peers)
		on_closed(s, s->peers);
	return s->args->once ? s->code : XIW_EXIT_OK;
}

static int open_buffer(struct sink *s)
{
	struct xiw_region_opts opts = { .size = sizeof(opts),
					.stag = s->args->stag_given ? &s->args->stag : NULL };
	struct sockaddr_storage addr = {};
	socklen_t len = sizeof(addr);
	char name[80];
	int err;

	s->buf = mmap(NULL, s->size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (s->buf == MAP_FAILED) {
		s->buf = NULL;
		return xiw_fail(XIW_EXIT_FAILURE, "no memory for --size %" PRIu64, s->size);
	}
	err = xiw_region_register(s->engine, s->buf, s->size, &opts, &s->region);
	if (err)
		return xiw_fail(XIW_EXIT_FAILURE, "cannot register the buffer: %s", strerror(-err));
	xiw_listener_addr(s->listener, &addr, &len);
	fprintf(stderr, "xiwarp: sink on %s, STag 0x%08x, TO 0 to %" PRIu64 "\n",
		xiw_addr_name(&addr, name), xiw_region_stag(s->region), s->size - 1);
	return 0;
}

static int run_sink(const struct xiw_args *args)
{
	struct sink s = { .args = args,
			  .size = args->size ? args->size : 64u << 20,
			  .queues = args->queues ? args->queues : XIW_QUEUES_DEFAULT,
			  .recv_size = args->recv_size ? args->recv_size : 65536 };
	struct xiw_conn_opts opts = { .size = sizeof(opts),
				      .markers = args->markers,
				      .no_crc = args->crc_off,
				      .revision = args->rev,
				      .queues = s.queues,
				      .first_msn = args->first_msn,
				      .recv_depth = RECVS };
	int code;

	xiw_catch_signals();
	code = xiw_receiver_open(args, &opts, &s.engine, &s.listener);
	if (code)
		return code;
	code = open_buffer(&s);
	if (!code)
		code = loop(&s);
	xiw_listener_free(s.listener);
	xiw_region_free(s.region);
	xiw_engine_destroy(s.engine);
	if (s.buf)
		munmap(s.buf, s.size);
	return xiw_exit_stopped(code);
}

static const struct xiw_opt sink_opts[] = {
	XIW_OPTS_RECEIVER,
	{ XIW_OPT_STAG, "stag", "N",
	  "the buffer's STag, decimal or 0x; default: chosen, and shown" },
	{ XIW_OPT_SIZE, "size", "BYTES",
	  "the buffer's size, TO 0 and up (K, M, G allowed); default 64M" },
	{ XIW_OPT_OUT, "out", "FILE",
	  "at each connection's end, write the buffer, up to the highest octet delivered, to "
	  "FILE" },
	{ XIW_OPT_MARKERS, "markers", NULL, "ask the peer for MPA markers" },
	{ XIW_OPT_CRC, "crc", "on|off",
	  "off: do without CRC32c if the peer does not ask for it either, and the administrator "
	  "has allowed it in /etc/xiwarp.conf, else say so and use it; default on" },
	{ XIW_OPT_QUEUES, "queues", "N", "untagged queues, QN 0 to N-1; default 3" },
	{ XIW_OPT_FIRST_MSN, "first-msn", "N",
	  "MSN of each queue's first message, for a peer that begins there too; default 1" },
	{ XIW_OPT_RECV_SIZE, "recv-size", "BYTES",
	  "size of the buffers posted for untagged messages; default 64K" },
	{ XIW_OPT_REV, "rev", "1|2",
	  "the highest MPA revision to take; 2 is that of RFC 6581; default 2" },
	{ XIW_OPT_PRIVATE_DATA, "private-data", "TEXT",
	  "Private Data of the MPA Reply, at most 512 octets; 508 if the Request has RFC 6581's "
	  "data" },
	{ XIW_OPT_REJECT, "reject", NULL, "reject every connection" },
	{ 0, NULL, NULL, NULL },
};

const struct xiw_cmd xiw_cmd_sink = {
	.name = "sink",
	.synopsis = "",
	.summary = "take what any MPA/DDP peer sends, and give an account of it",
	.text = "Registers one buffer, listens, and accepts. Tagged messages are placed in the "
		"buffer; untagged "
		"ones are received and counted. The report at each connection's end has octets and "
		"segments "
		"by path, FPDUs, messages, hand-offs, refused segments by reason, and errors with "
		"the numbers "
		"of RFC 5044 section 8 and RFC 5041 section 7.2. The buffer is one for all "
		"connections.\n\n"
		"Runs until SIGINT or SIGTERM, or with --once until the first connection has "
		"ended; then the "
		"exit code is 7 if that ended in an error.",
	.examples = "sudo xiwarp sink --stag 0x1234 --size 1G --once --json\n"
		    "xiwarp sink --path kernel --markers --out received.bin\n",
	.opts = sink_opts,
	.min_words = 0,
	.max_words = 0,
	.run = run_sink,
};
