// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The receiving side of xfer.h: octets go from the wire straight into the pages of the file.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "store.h"
#include "xfer.h"

/*
 * Messages of a peer's that are not answered yet, or whose answer's completion has not come: that may be overtaken by
 * the peer's next message. One that does not wait for answers finds no buffer, which ends the connection.
 */
#define SLOTS 4
#define UD_ANSWER 16 /* + slot */
#define UD_RECV 32   /* + slot */
#define UD_GRANT 48

/*
 * Digested between two turns of the engine. At 0.5 GB/s this is 2 ms: far below the time after which
 * XDP takes a connection away from an engine that does not run.
 */
#define DIGEST_SLICE (1u << 20)

/*
 * Octets that are allocated and granted at once, twice as many each time: what a peer can make us allocate stays within
 * three times what it has sent.
 */
#define WINDOW_FIRST (1u << 20)
#define WINDOW_MOST (64u << 20)

#define IDLE_SECONDS 60
#define LOOK_NS 250000000ull

enum state {
	ST_IDLE,
	ST_RECEIVING,
	ST_REFUSED, /* in the middle of the file: what was granted may still come */
	ST_DIGESTING,
	ST_ENDED, /* aborted or closing: nothing more is taken from it */
};

/* A message and its answer: received into again when the answer has been sent. */
struct slot {
	uint8_t recv[XIW_XFER_MAX], answer[XIW_XFER_MAX];
};

struct peer {
	struct peer *next;
	struct serve *serve;
	struct xiw_conn *conn;
	enum state state;
	char name[80];
	struct slot slots[SLOTS];
	size_t done_slot; /* of the DONE that is answered when the file has been digested */

	struct xiw_store store;
	bool storing;
	struct xiw_region *region, *older; /* of the last window, and of the one before it */
	uint64_t window, granted, received;
	uint8_t grant[XIW_XFER_MAX]; /* that was not asked for */
	bool granting;
	uint64_t octets, active_ns; /* of the connection; when they, or messages, last moved */
	struct xiw_conn_info before, after;
	uint64_t handoffs; /* reported with earlier files */
	uint64_t first_ns, last_ns, digest_ns;
	uint8_t expected[XIW_XFER_SHA256];
};

struct serve {
	const struct xiw_args *args;
	int dir;
	struct xiw_engine *engine;
	struct xiw_listener *listener;
	struct peer *peers;
	uint64_t looked_ns;
	unsigned int digesting, ended;
	int code;
};

static uint64_t octets_of(const struct xiw_conn_info *info)
{
	return info->octets_direct + info->octets_kernel;
}

/* The transfer begins with the first octet behind the grant, as near as a turn of the engine. */
static void note_first(struct peer *p)
{
	struct xiw_conn_info info;

	if (p->state != ST_RECEIVING || p->first_ns)
		return;
	xiw_conn_info(p->conn, &info, sizeof(info));
	if (octets_of(&info) > octets_of(&p->before))
		p->first_ns = xiw_now_ns();
}

static void free_regions(struct peer *p)
{
	xiw_region_free(p->region);
	xiw_region_free(p->older);
	p->region = p->older = NULL;
}

static void drop_file(struct peer *p)
{
	/* Before the mapping goes: nothing may be placed there any more. */
	free_regions(p);
	if (p->storing)
		xiw_store_end(&p->store);
	p->storing = false;
	if (p->state == ST_DIGESTING)
		p->serve->digesting--;
	p->state = ST_IDLE;
}

static void end_peer(struct peer *p, const char *why)
{
	if (p->state == ST_ENDED)
		return;
	xiw_fail(0, "%s: %s; connection ended", p->name, why);
	drop_file(p);
	p->state = ST_ENDED;
	xiw_conn_abort(p->conn);
}

static void post_recv(struct peer *p, size_t slot)
{
	int err = p->state == ST_ENDED ? 0
				       : xiw_conn_post_recv(p->conn, 0, p->slots[slot].recv,
							    XIW_XFER_MAX, UD_RECV + slot);

	/* One that has closed already sends no more. */
	if (err && err != -ESHUTDOWN)
		end_peer(p, "no buffer for its messages");
}

static void reply(struct peer *p, size_t slot, const struct xiw_xfer *x)
{
	struct xiw_message m = { .buf = p->slots[slot].answer, .user_data = UD_ANSWER + slot };

	m.len = xiw_xfer_encode(x, p->slots[slot].answer);
	if (xiw_conn_send(p->conn, &m))
		end_peer(p, "cannot be answered");
}

/* The peer is told a status; whoever runs this, the cause as well. */
static void not_taken(const struct peer *p, const char *how, const char *name,
		      enum xiw_xfer_status status, int err)
{
	char shown[XIW_XFER_NAME_MAX + 1];

	xiw_fail(0, "%s: %s '%s': %s%s%s", p->name, how, xiw_printable(name, shown, sizeof(shown)),
		 xiw_xfer_status_name(status), err ? ": " : "", err ? strerror(err) : "");
}

/* The next octets of the file: allocated, and the peer's to write. */
static enum xiw_xfer_status next_window(struct peer *p, struct xiw_xfer *grant)
{
	struct xiw_region_opts opts = { .size = sizeof(opts), .conn = p->conn };
	uint64_t len = p->window ? 2 * p->window : WINDOW_FIRST;
	enum xiw_xfer_status status;
	struct xiw_region *region;

	if (!p->store.map)
		return XIW_XFER_OK;
	if (len > WINDOW_MOST)
		len = WINDOW_MOST;
	if (len > p->store.size - p->granted)
		len = p->store.size - p->granted;
	status = xiw_store_extend(&p->store, len, p->serve->args->keep_free);
	if (status)
		return status;
	p->store.err = -xiw_region_register(p->serve->engine, p->store.map + p->granted, len, &opts,
					    &region);
	if (p->store.err)
		return XIW_XFER_FAILED;
	/* All of that one has come. */
	xiw_region_free(p->older);
	p->older = p->region;
	p->region = region;
	p->window = len;
	p->granted += len;
	grant->stag = xiw_region_stag(region);
	grant->length = len;
	return XIW_XFER_OK;
}

static void not_granted(struct peer *p, const struct xiw_xfer *grant)
{
	not_taken(p, p->received ? "did not keep" : "refused", p->store.name,
		  (enum xiw_xfer_status)grant->status, p->store.err);
	if (!p->serve->code)
		p->serve->code = XIW_EXIT_FAILURE;
}

/* Half of the last window has come: the next one, so that the peer need not wait. */
static void more_grant(struct peer *p)
{
	struct xiw_message m = { .buf = p->grant, .user_data = UD_GRANT };
	struct xiw_xfer grant = { .type = XIW_XFER_GRANT };

	if (p->state != ST_RECEIVING || p->granting || p->granted == p->store.size ||
	    p->received + p->window / 2 < p->granted)
		return;
	grant.status = next_window(p, &grant);
	if (grant.status) {
		not_granted(p, &grant);
		p->state = ST_REFUSED;
	}
	m.len = xiw_xfer_encode(&grant, p->grant);
	if (xiw_conn_send(p->conn, &m))
		end_peer(p, "cannot be answered");
	p->granting = true;
}

static enum xiw_xfer_status open_file(struct peer *p, const struct xiw_xfer *offer,
				      struct xiw_xfer *grant)
{
	const struct xiw_args *args = p->serve->args;
	enum xiw_xfer_status status;

	p->store.err = 0;
	if (args->max_size && offer->size > args->max_size)
		return XIW_XFER_TOO_LARGE;
	status = xiw_store_begin(&p->store, p->serve->dir, args->force, offer);
	p->storing = status == XIW_XFER_OK;
	p->window = p->granted = p->received = 0;
	return status ? status : next_window(p, grant);
}

static void on_offer(struct peer *p, size_t slot, const struct xiw_xfer *offer)
{
	struct xiw_xfer grant = { .type = XIW_XFER_GRANT };

	drop_file(p);
	grant.status = open_file(p, offer, &grant);
	if (grant.status) {
		not_taken(p, "refused", offer->name, grant.status, p->store.err);
		drop_file(p);
	} else {
		p->state = ST_RECEIVING;
		p->first_ns = 0;
		xiw_conn_info(p->conn, &p->before, sizeof(p->before));
	}
	reply(p, slot, &grant);
}

static void on_done(struct peer *p, size_t slot, const struct xiw_xfer *done)
{
	p->done_slot = slot;
	p->last_ns = xiw_now_ns();
	if (!p->first_ns)
		p->first_ns = p->last_ns;
	xiw_conn_info(p->conn, &p->after, sizeof(p->after));
	memcpy(p->expected, done->sha256, sizeof(p->expected));
	/* The peer could change what has been digested already. */
	free_regions(p);
	p->state = ST_DIGESTING;
	p->serve->digesting++;
	p->digest_ns = 0;
}

static void report(struct peer *p, const uint8_t sha256[XIW_XFER_SHA256], bool equal)
{
	uint64_t direct = p->after.octets_direct - p->before.octets_direct;
	uint64_t kernel = p->after.octets_kernel - p->before.octets_kernel;
	uint64_t handoffs = p->after.went_direct + p->after.went_kernel - p->handoffs;
	double seconds = (double)(p->last_ns - p->first_ns) / 1e9;
	double gbit = seconds > 0 ? (double)p->store.size * 8 / seconds / 1e9 : 0;
	char hex[2 * XIW_XFER_SHA256 + 1], size[32], time[32], rate[32], digest[32];
	char shown[XIW_XFER_NAME_MAX + 1];
	struct json_object *o;

	p->handoffs += handoffs;
	xiw_printable(p->store.name, shown, sizeof(shown));
	if (!p->serve->args->json) {
		printf("%s from %s: %s in %s, %s%s%.2f %% direct, %" PRIu64
		       " hand-off%s, SHA-256 %s (%s)%s%s\n",
		       shown, p->name, xiw_octets(p->store.size, size), xiw_seconds(seconds, time),
		       /* What came in one turn of the engine has no rate. */
		       seconds > 0 ? xiw_rate(p->store.size, seconds, rate) : "",
		       seconds > 0 ? ", " : "", 100 * xiw_share(direct, kernel), handoffs,
		       handoffs == 1 ? "" : "s", equal ? "equal" : "DIFFERENT",
		       xiw_seconds((double)p->digest_ns / 1e9, digest),
		       *p->after.no_direct ? "; no direct path: " : "", p->after.no_direct);
		fflush(stdout);
		return;
	}
	o = json_object_new_object();
	xiw_json_str(o, "file", shown);
	xiw_json_str(o, "peer", p->name);
	xiw_json_u64(o, "octets", p->store.size);
	json_object_object_add(o, "digest_equal", json_object_new_boolean(equal));
	xiw_json_f(o, "direct_share", xiw_share(direct, kernel), "%.6f");
	xiw_json_f(o, "gbit_per_s", gbit, "%.4f");
	xiw_json_u64(o, "hand_offs", handoffs);
	xiw_xfer_hex(sha256, hex);
	xiw_json_str(o, "sha256", hex);
	xiw_json_f(o, "seconds", seconds, "%.9f");
	xiw_json_f(o, "digest_seconds", (double)p->digest_ns / 1e9, "%.9f");
	xiw_json_u64(o, "octets_direct", direct);
	xiw_json_u64(o, "octets_kernel", kernel);
	xiw_json_reasons(o, "left_direct", p->after.why);
	xiw_json_str(o, "no_direct", p->after.no_direct);
	json_object_object_add(o, "zero_copy", json_object_new_boolean(p->after.zero_copy));
	xiw_json_print(o);
}

static void digest_some(struct peer *p)
{
	struct xiw_xfer result = { .type = XIW_XFER_RESULT, .size = p->store.size };
	uint8_t sha256[XIW_XFER_SHA256];
	uint64_t start = xiw_now_ns();
	int done = xiw_store_digest(&p->store, DIGEST_SLICE, sha256);
	bool equal;

	p->digest_ns += xiw_now_ns() - start;
	if (!done)
		return;
	equal = done > 0 && !memcmp(sha256, p->expected, sizeof(sha256));
	result.status = done < 0 ? XIW_XFER_FAILED
			: equal	 ? xiw_store_commit(&p->store)
				 : XIW_XFER_MISMATCH;
	if (done > 0)
		report(p, sha256, equal);
	if (result.status)
		not_taken(p, "did not keep", p->store.name, result.status, p->store.err);
	if (result.status && !p->serve->code)
		p->serve->code = equal ? XIW_EXIT_FAILURE : XIW_EXIT_VERIFY;
	drop_file(p);
	reply(p, p->done_slot, &result);
}

static void on_received(struct peer *p, const struct xiw_completion *c)
{
	size_t slot = c->user_data - UD_RECV;
	struct xiw_xfer x;

	if (p->state == ST_ENDED || c->status || slot >= SLOTS)
		return;
	if (xiw_xfer_decode(&x, p->slots[slot].recv, c->length))
		end_peer(p, "sent a message that is not one of 'xiwarp put'");
	else if (x.type == XIW_XFER_OFFER && (p->state == ST_IDLE || p->state == ST_REFUSED))
		on_offer(p, slot, &x);
	/* A part that is not allocated cannot even be read. */
	else if (x.type == XIW_XFER_DONE && p->state == ST_RECEIVING && p->granted == p->store.size)
		on_done(p, slot, &x);
	else
		end_peer(p, "sent a message out of turn");
}

static void on_request(struct serve *s, const struct xiw_completion *c)
{
	struct peer *p = calloc(1, sizeof(*p));
	struct xiw_conn_info info;
	int err = p ? 0 : -ENOMEM;

	if (p) {
		p->serve = s;
		p->conn = c->conn;
		p->store.fd = -1;
		p->active_ns = xiw_now_ns();
		xiw_conn_info(p->conn, &info, sizeof(info));
		xiw_addr_name(&info.remote, p->name);
	}
	for (int i = 0; !err && i < SLOTS; i++)
		err = xiw_conn_post_recv(c->conn, 0, p->slots[i].recv, XIW_XFER_MAX, UD_RECV + i);
	if (!err)
		err = xiw_conn_accept(c->conn, NULL, 0);
	if (err) {
		/* Its last event may be in the queue already: that frees it. */
		if (err != -ENOTCONN && err != -ESHUTDOWN)
			xiw_fail(0, "a connection was not accepted: %s", strerror(-err));
		xiw_conn_abort(c->conn);
		free(p);
		return;
	}
	p->next = s->peers;
	s->peers = p;
}

static void explain_end(struct peer *p, const struct xiw_conn_info *info)
{
	char text[256];
	const char *why = xiw_end_text(info, text);

	if (!why && p->state == ST_RECEIVING)
		why = "closed in the middle of a file";
	if (why && p->state != ST_ENDED)
		xiw_fail(0, "%s: %s", p->name, why);
	if ((why || p->state == ST_ENDED) && !p->serve->code)
		p->serve->code = XIW_EXIT_PEER;
}

static void on_closed(struct serve *s, struct peer *p)
{
	struct peer **link = &s->peers;
	struct xiw_conn_info info;

	xiw_conn_info(p->conn, &info, sizeof(info));
	explain_end(p, &info);
	drop_file(p);
	while (*link != p)
		link = &(*link)->next;
	*link = p->next;
	xiw_conn_free(p->conn);
	free(p);
	s->ended++;
}

static void on_completion(struct serve *s, const struct xiw_completion *c)
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
	switch (c->event) {
	case XIW_EV_RECEIVED:
		on_received(p, c);
		break;
	case XIW_EV_WRITTEN:
		p->received += c->length;
		more_grant(p);
		break;
	case XIW_EV_SENT:
		if (c->user_data - UD_ANSWER < SLOTS)
			post_recv(p, c->user_data - UD_ANSWER);
		if (c->user_data == UD_GRANT) {
			p->granting = false;
			more_grant(p);
		}
		break;
	case XIW_EV_ERROR:
		xiw_conn_abort(p->conn);
		break;
	case XIW_EV_EOF:
		if (p->state != ST_ENDED)
			xiw_conn_close(p->conn);
		break;
	case XIW_EV_CLOSED:
		on_closed(s, p);
		break;
	default:
		break;
	}
}

/* Who holds a connection, or a file, and does nothing with it. */
static void end_idle(struct serve *s)
{
	uint64_t now = xiw_now_ns(), idle = s->args->idle ? s->args->idle : IDLE_SECONDS;
	struct xiw_conn_info info;

	if (now - s->looked_ns < LOOK_NS)
		return;
	s->looked_ns = now;
	for (struct peer *p = s->peers; p; p = p->next) {
		xiw_conn_info(p->conn, &info, sizeof(info));
		/* Empty messages are no work done. */
		if (octets_of(&info) != p->octets || p->state == ST_DIGESTING)
			p->active_ns = now;
		p->octets = octets_of(&info);
		if (now - p->active_ns > idle * 1000000000)
			end_peer(p, "sent nothing for too long (--idle)");
	}
}

static int loop(struct serve *s)
{
	struct xiw_completion c;
	int n;

	while (xiw_go_on() && !(s->args->once && s->ended && !s->peers)) {
		n = xiw_engine_run(s->engine, s->digesting ? 0 : 500);
		if (n < 0 && n != -EINTR)
			return xiw_fail(XIW_EXIT_FAILURE, "the engine failed: %s", strerror(-n));
		/* Before the completions, so that a file that came in one turn has a beginning. */
		for (struct peer *p = s->peers; p; p = p->next)
			note_first(p);
		while (xiw_engine_next(s->engine, &c) > 0)
			on_completion(s, &c);
		for (struct peer *p = s->peers; p; p = p->next)
			if (p->state == ST_DIGESTING)
				digest_some(p);
		end_idle(s);
	}
	return s->args->once ? s->code : XIW_EXIT_OK;
}

static void announce(const struct serve *s)
{
	struct sockaddr_storage addr;
	socklen_t len = sizeof(addr);
	char name[80];

	if (!xiw_listener_addr(s->listener, &addr, &len))
		fprintf(stderr, "xiwarp: serving %s on %s\n", s->args->words[0],
			xiw_addr_name(&addr, name));
}

static int run_serve(const struct xiw_args *args)
{
	struct xiw_conn_opts opts = { .size = sizeof(opts), .queues = 1, .recv_depth = SLOTS };
	struct serve s = { .args = args };
	char shown[256];
	int code;

	xiw_catch_signals();
	s.dir = xiw_store_dir(args->words[0], args->create);
	if (s.dir == -ENOENT)
		return xiw_fail(XIW_EXIT_FAILURE,
				"no directory %s: make it, or have --create do so",
				xiw_printable(args->words[0], shown, sizeof(shown)));
	if (s.dir < 0)
		return xiw_fail(s.dir == -EACCES ? XIW_EXIT_PRIVILEGE : XIW_EXIT_FAILURE,
				"cannot write to directory %s: %s",
				xiw_printable(args->words[0], shown, sizeof(shown)),
				strerror(-s.dir));
	code = xiw_receiver_open(args, &opts, &s.engine, &s.listener);
	if (!code) {
		announce(&s);
		code = loop(&s);
		xiw_listener_free(s.listener);
		for (struct peer *p = s.peers, *next; p; p = next) {
			next = p->next;
			xiw_conn_free(p->conn);
			drop_file(p);
			free(p);
		}
		xiw_engine_destroy(s.engine);
	}
	close(s.dir);
	return xiw_exit_stopped(code);
}

static const struct xiw_opt serve_opts[] = {
	XIW_OPTS_RECEIVER,
	{ XIW_OPT_FORCE, "force", NULL, "overwrite files that exist" },
	{ XIW_OPT_CREATE, "create", NULL, "make DIR if it does not exist" },
	{ XIW_OPT_MAX_SIZE, "max-size", "SIZE",
	  "refuse larger files; default: what the file system has room for" },
	{ XIW_OPT_KEEP_FREE, "keep-free", "SIZE",
	  "leave so much of the file system to others; default 0" },
	{ XIW_OPT_IDLE, "idle", "SECONDS",
	  "end a connection that brings no octet for so long; default 60" },
	{ 0, NULL, NULL, NULL },
};

const struct xiw_cmd xiw_cmd_serve = {
	.name = "serve",
	.synopsis = "DIR",
	.summary = "receive files from 'xiwarp put' into a directory",
	.text = "Octets go from the wire straight into the pages of the new file. It has no name "
		"until "
		"its SHA-256 is found equal to the sender's, so that nothing is left of what did "
		"not "
		"arrive, however serve ends (where the file system has no such files, a hidden "
		"name, which "
		"the next serve removes); it never leaves DIR, and replaces nothing without "
		"--force. Names with a slash, a control character or a leading dot "
		"are "
		"refused. Anyone who can connect can send files: choose where to listen. Space is "
		"allocated as octets come, so that an offer alone takes none.\n\n"
		"Reports each file: octets, transfer time from the first to the last octet, share "
		"of its "
		"octets that took the direct path, hand-offs between the paths, and the time to "
		"digest it. "
		"Runs until SIGINT or SIGTERM. Without the programs on the interface, or the "
		"privilege to "
		"use them, it serves on the kernel's path.",
	.examples = "sudo xiwarp serve /srv/incoming\n"
		    "sudo xiwarp serve --listen [2001:db8::7]:" XIW_PORT " --json /srv/incoming\n"
		    "xiwarp serve --path kernel --once .\n",
	.opts = serve_opts,
	.min_words = 1,
	.max_words = 1,
	.run = run_serve,
};
