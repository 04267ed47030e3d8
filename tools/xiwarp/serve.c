// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* `xiwarp serve`: the receiving side of xfer.h. Octets go from the wire straight into memory, then into the file. */
#include "serve.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "exit.h"
#include "ends.h"
#include "receiver_opts.h"
#include "signals.h"
#include "telling.h"
#include "text.h"

/* How often idle connections are looked for. */
#define LOOK_NS 250000000ull
/* What a connection has to bring within --idle, if no file begins or ends. */
#define LEAST (64u << 10)

static struct xiw_serve_peer *serve_peer(struct xiw_peer *peer)
{
	return (struct xiw_serve_peer *)peer;
}

uint64_t xiw_serve_octets(const struct xiw_conn_info *info)
{
	return info->octets_direct + info->octets_kernel;
}

/* ---- messages ------------------------------------------------------------------------------------ */

void xiw_serve_end(struct xiw_serve_peer *p, const char *why)
{
	if (p->state == XIW_SERVE_ENDED)
		return;
	if (xiw_may_tell())
		xiw_fail(0, "%s: %s; connection ended", p->peer.name, why);
	xiw_serve_drop(p);
	p->state = XIW_SERVE_ENDED;
	xiw_conn_abort(p->peer.conn);
}

void xiw_serve_reply(struct xiw_serve_peer *p, size_t slot, const struct xiw_xfer *x)
{
	struct xiw_message m = { .buf = p->slots[slot].answer,
				 .user_data = XIW_SERVE_ANSWER + slot };

	m.len = xiw_xfer_encode(x, p->slots[slot].answer);
	if (xiw_conn_send(p->peer.conn, &m))
		xiw_serve_end(p, "an answer to it could not be sent");
}

static int post_recv(struct xiw_serve_peer *p, size_t slot)
{
	return xiw_conn_post_recv(p->peer.conn, 0, p->slots[slot].recv, XIW_XFER_MAX,
				  XIW_SERVE_RECV + slot);
}

static void on_received(struct xiw_serve_peer *p, const struct xiw_completion *c)
{
	size_t slot = c->user_data - XIW_SERVE_RECV;
	struct xiw_xfer x;

	if (p->state == XIW_SERVE_ENDED || c->status || slot >= XIW_SERVE_SLOTS)
		return;
	if (xiw_xfer_decode(&x, p->slots[slot].recv, c->length))
		xiw_serve_end(p, "sent a message that is not one of 'xiwarp put'");
	else if (x.type == XIW_XFER_OFFER &&
		 (p->state == XIW_SERVE_IDLE || p->state == XIW_SERVE_REFUSED))
		xiw_serve_offer(p, slot, &x);
	/* Only when all is granted: what is not cannot have come. */
	else if (x.type == XIW_XFER_DONE && p->state == XIW_SERVE_RECEIVING &&
		 p->window.granted == p->store.size)
		xiw_serve_done(p, slot, &x);
	else
		xiw_serve_end(p, "sent a message out of turn");
}

static void on_sent(struct xiw_serve_peer *p, const struct xiw_completion *c)
{
	size_t slot = c->user_data - XIW_SERVE_ANSWER;
	int err;

	if (c->user_data == XIW_SERVE_GRANT) {
		p->window.sending = false;
		xiw_serve_go_on(p);
	}
	if (slot >= XIW_SERVE_SLOTS || p->state == XIW_SERVE_ENDED)
		return;
	err = post_recv(p, slot);
	/* A peer that has closed already sends no more. */
	if (err && err != -ESHUTDOWN)
		xiw_serve_end(p, "no buffer could be posted for its messages");
}

/* ---- connections --------------------------------------------------------------------------------- */

static int on_request(struct xiw_peer *peer)
{
	struct xiw_serve_peer *p = serve_peer(peer);
	int err = 0;

	p->store.fd = -1;
	xiw_activity_note(&p->activity, 0, xiw_now_ns());
	for (size_t i = 0; !err && i < XIW_SERVE_SLOTS; i++)
		err = post_recv(p, i);
	return err ? err : xiw_conn_accept(peer->conn, NULL, 0);
}

/* The transfer begins with the first octet behind the grant, to the precision of a turn of the engine. */
static void note_first(struct xiw_peer *peer)
{
	struct xiw_serve_peer *p = serve_peer(peer);
	struct xiw_conn_info info;

	if (p->state != XIW_SERVE_RECEIVING || p->first_ns)
		return;
	xiw_conn_info(peer->conn, &info, sizeof(info));
	if (xiw_serve_octets(&info) > xiw_serve_octets(&p->before))
		p->first_ns = xiw_now_ns();
}

static void on_completion(struct xiw_peer *peer, const struct xiw_completion *c)
{
	struct xiw_serve_peer *p = serve_peer(peer);

	switch (c->event) {
	case XIW_EV_RECEIVED:
		on_received(p, c);
		break;
	case XIW_EV_WRITTEN:
		p->window.received += c->length;
		xiw_serve_go_on(p);
		break;
	case XIW_EV_SENT:
		on_sent(p, c);
		break;
	case XIW_EV_ERROR:
		xiw_conn_abort(peer->conn);
		break;
	case XIW_EV_EOF:
		if (p->state != XIW_SERVE_ENDED)
			xiw_conn_close(peer->conn);
		break;
	default:
		break;
	}
}

/* Ended by a signal, in the middle of a file? */
static void say_unfinished(const struct xiw_serve_peer *p)
{
	char shown[XIW_XFER_NAME_MAX + 1], came[32], size[32];

	if (p->state == XIW_SERVE_RECEIVING || p->state == XIW_SERVE_WRITING)
		xiw_fail(0, "%s: did not keep '%s': stopped when %s of %s had come", p->peer.name,
			 xiw_printable(p->store.name, shown, sizeof(shown)),
			 xiw_octets(p->window.received, came), xiw_octets(p->store.size, size));
}

static void on_ended(struct xiw_peer *peer, bool stopped)
{
	struct xiw_serve_peer *p = serve_peer(peer);
	struct xiw_conn_info info;
	const char *why;
	char text[256];

	if (stopped) {
		say_unfinished(p);
		return;
	}
	xiw_conn_info(peer->conn, &info, sizeof(info));
	why = xiw_end_text(&info, text);
	if (!why && p->state == XIW_SERVE_RECEIVING)
		why = "closed in the middle of a file";
	if (why && p->state != XIW_SERVE_ENDED && xiw_may_tell())
		xiw_fail(0, "%s: %s", peer->name, why);
	if (why || p->state == XIW_SERVE_ENDED)
		xiw_receiver_fail(peer->receiver, XIW_EXIT_PEER);
}

static void release(struct xiw_peer *peer)
{
	xiw_serve_drop(serve_peer(peer));
}

/* Ends connections that hold a buffer or a file and bring too little. */
static void end_idle(struct xiw_serve *s)
{
	const uint32_t idle = s->receiver.args->serve.idle;
	const uint64_t now = xiw_now_ns();
	struct xiw_conn_info info;

	if (now - s->looked_ns < LOOK_NS)
		return;
	s->looked_ns = now;
	for (struct xiw_peer *peer = s->receiver.peers; peer; peer = peer->next) {
		struct xiw_serve_peer *p = serve_peer(peer);
		uint64_t octets;

		xiw_conn_info(peer->conn, &info, sizeof(info));
		octets = xiw_serve_octets(&info);
		/* While octets wait for the disk, the peer may wait for us. */
		if (p->storing && !p->work.status && p->store.written < p->work.settled)
			xiw_activity_note(&p->activity, octets, now);
		if (xiw_activity_idle(&p->activity, octets, now, LEAST, idle))
			xiw_serve_end(p, "sent too little for too long (--idle)");
	}
}

static void after_turn(struct xiw_receiver *r)
{
	for (struct xiw_peer *peer = r->peers; peer; peer = peer->next)
		xiw_serve_go_on(serve_peer(peer));
	end_idle((struct xiw_serve *)r);
}

static int begin(struct xiw_receiver *r)
{
	return xiw_worker_begin(&((struct xiw_serve *)r)->worker, r->engine);
}

static void finish(struct xiw_receiver *r)
{
	xiw_worker_stop(&((struct xiw_serve *)r)->worker);
}

static const struct xiw_receiver_ops ops = {
	.receiver_size = sizeof(struct xiw_serve),
	.peer_size = sizeof(struct xiw_serve_peer),
	.request = on_request,
	.turned = note_first,
	.completion = on_completion,
	.ended = on_ended,
	.release = release,
	.after = after_turn,
	.begin = begin,
	.finish = finish,
	.count_failed_startups = true,
	.with_file = true,
};

/* ---- the command --------------------------------------------------------------------------------- */

static int open_dir(struct xiw_serve *s, const struct xiw_args *args)
{
	char shown[256];

	s->dir = xiw_store_dir(args->words[0], args->serve.create);
	if (s->dir >= 0)
		return 0;
	xiw_printable(args->words[0], shown, sizeof(shown));
	if (s->dir == -ENOENT && args->serve.create)
		return xiw_fail(XIW_EXIT_FAILURE,
				"cannot make directory %s: there is no directory to make it in: "
				"'mkdir -p' that first",
				shown);
	if (s->dir == -ENOENT)
		return xiw_fail(XIW_EXIT_FAILURE, "no directory %s: make it, or let --create do so",
				shown);
	return xiw_fail(s->dir == -EACCES ? XIW_EXIT_PRIVILEGE : XIW_EXIT_FAILURE,
			"cannot write to directory %s: %s", shown, strerror(-s->dir));
}

static int run_serve(const struct xiw_args *args)
{
	struct xiw_conn_opts opts = { .size = sizeof(opts),
				      .queues = 1,
				      .recv_depth = XIW_SERVE_SLOTS };
	struct xiw_quota memory = { .lock = PTHREAD_MUTEX_INITIALIZER,
				    .limit = args->serve.memory };
	struct xiw_serve s = { .memory = &memory,
			       .receiver = { .args = args,
					     .ops = &ops,
					     .listen = args->receiver.listen,
					     .output_dir = args->words[0],
					     .once = args->receiver.once } };
	char name[80];
	int code;

	xiw_catch_signals();
	code = open_dir(&s, args);
	if (code)
		return code;
	code = xiw_receiver_open(&s.receiver, &opts);
	if (!code) {
		fprintf(stderr, "xiwarp: serving %s on %s\n", args->words[0],
			xiw_receiver_addr(&s.receiver, name));
		code = xiw_receiver_run(&s.receiver);
		xiw_receiver_close(&s.receiver);
	}
	close(s.dir);
	return xiw_exit_stopped(code);
}

static const struct xiw_opt serve_opts[] = {
	XIW_RECEIVER_OPTS,
	{ "force", .help = "overwrite files that exist", XIW_FLAG(force) },
	{ "create", .help = "make DIR if it does not exist", XIW_FLAG(serve.create) },
	{ "max-size", .arg = "SIZE",
	  .help = "refuse larger files; default: those that the file system has no room for",
	  XIW_SIZE(serve.max_size, 1, 1ull << 62) },
	{ "keep-free", .arg = "SIZE", .help = "leave this much of the file system free; default 0",
	  XIW_SIZE(serve.keep_free, 0, 1ull << 62) },
	{ "memory", .arg = "SIZE",
	  .help = "memory for all files that come at a time, of which the files of one peer "
		  "take no more than half of what others leave; default 1G, at least 4M",
	  XIW_SIZE(serve.memory, XIW_STORE_RING_LEAST, 1ull << 62) },
	{ "idle", .arg = "SECONDS",
	  .help = "end a connection that brings less than 64 KiB, and no whole file, for this "
		  "long; default 60. A peer has 10 seconds for MPA startup, whatever this is",
	  XIW_NUMBER(serve.idle, 1, 86400) },
	{},
};

const struct xiw_cmd xiw_cmd_serve = {
	.name = "serve",
	.synopsis = "DIR",
	.summary = "receive files from 'xiwarp put' into a directory",
	.text = "Octets go from the wire straight into memory from which the new file is written. "
		"The file has no name until its digest is found equal to the sender's, so that "
		"nothing is left of an incomplete file, however serve ends. (Where the file "
		"system has no files without a name, it has a hidden one, and the next serve "
		"removes what is left.) Files never leave DIR, and replace nothing without "
		"--force. Names with a slash, an ASCII control or a leading dot are refused. "
		"Anyone who can connect can send files: choose where to listen. Space is "
		"allocated as octets come, so that an offer alone takes none. A file takes up to "
		"16 MiB of memory while it comes, and up to 4 MiB if more would be over half of "
		"what its peer (an IPv4 address or an IPv6 /64) may take of --memory. When none "
		"is left, files of more than 64 KiB are refused. A peer that sends little keeps "
		"others from no more than its part, and that until --idle ends it. " XIW_SHARE_TEXT
		"\n\n"
		"Reports each file: octets, transfer time from the first to the last octet, the "
		"share of its octets that took the direct path, hand-offs between the paths, and "
		"the time that it took after the last octet to digest and write the rest. Runs "
		"until SIGINT or SIGTERM. Without the programs on the interface, or without the "
		"privilege to use them, it takes the kernel path.",
	.examples = "sudo xiwarp serve /srv/incoming\n"
		    "sudo xiwarp serve --listen [2001:db8::7]:" XIW_PORT " --json /srv/incoming\n"
		    "xiwarp serve --path kernel --once .\n",
	.opts = serve_opts,
	.min_words = 1,
	.max_words = 1,
	.run = run_serve,
};
