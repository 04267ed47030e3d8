// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The sending side of xfer.h. Octets are read into a few chunks, digested there, and sent from there,
 * so that the digest covers exactly what was sent, even of a file that changes meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/evp.h>

#include "cli.h"
#include "xfer.h"

#define CHUNK (1u << 20)
#define CHUNKS 8
#define RECVS 4
#define GRANTS 2

/* user_data of what comes back; chunks are 0..CHUNKS-1, receive buffers RECV + index. */
#define UD_CONN 1000
#define UD_CONTROL 1001 /* + which */
#define UD_RECV 2000

enum control { OFFER, DONE };

enum state {
	ST_CONNECTING,
	ST_READY,
	ST_OFFERED,
	ST_SENDING,
	ST_DONE,   /* DONE is queued, RESULT not here yet */
	ST_FAILED, /* `code` says how */
	ST_CLOSED,
};

struct put {
	const struct xiw_args *args;
	const char *target;
	struct xiw_engine *engine;
	struct xiw_conn *conn;
	enum state state;
	int code;
	bool closed; /* XIW_EV_CLOSED or _REFUSED has come */
	int connect_error;
	struct xiw_conn_info last; /* of the address that was tried last */
	uint8_t *chunks;
	bool busy[CHUNKS];
	uint8_t recv[RECVS][XIW_XFER_MAX];
	/* OFFER and DONE: the answer to one may come before its own completion does. */
	uint8_t control[2][XIW_XFER_MAX];
	bool control_busy[2];

	/* The file at hand. */
	const char *path;
	int fd;
	EVP_MD_CTX *digest;
	struct xiw_xfer grants[GRANTS]; /* the first is being used up */
	unsigned int ngrants;
	uint64_t used;	  /* octets of it */
	uint64_t granted; /* of the file */
	uint64_t size, queued, sent, start_ns, end_ns, drawn_ns;
	uint8_t sha256[XIW_XFER_SHA256];
	char shown[128];
};

/* Nothing more can be sent. The first failure decides the exit code. */
static void fail(struct put *p, int code)
{
	p->state = ST_FAILED;
	if (!p->code)
		p->code = code;
}

/* This file cannot be sent; the next one can. */
static void skip(struct put *p, int code)
{
	p->state = ST_READY;
	if (!p->code)
		p->code = code;
}

static void draw(struct put *p, bool last)
{
	uint64_t now = xiw_now_ns();

	if (p->args->json || !isatty(STDERR_FILENO) || (!last && now - p->drawn_ns < 100000000))
		return;
	p->drawn_ns = now;
	xiw_progress(p->shown, p->sent, p->size, (double)(now - p->start_ns) / 1e9, last);
}

static int send_control(struct put *p, enum control which, const struct xiw_xfer *x)
{
	struct xiw_message m = { .buf = p->control[which], .user_data = UD_CONTROL + which };
	int err;

	m.len = xiw_xfer_encode(x, p->control[which]);
	err = xiw_conn_send(p->conn, &m);
	p->control_busy[which] = !err;
	return err;
}

/* Opens the file at hand, and says in `x` what is to be offered. */
static bool open_file(struct put *p, struct xiw_xfer *x)
{
	const char *slash = strrchr(p->path, '/');
	const char *name = slash ? slash + 1 : p->path;
	struct stat st;

	/* Behind a directory's last slash there is no name to speak of. */
	xiw_printable(*name ? name : p->path, p->shown, sizeof(p->shown));
	p->fd = open(p->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (p->fd < 0 || fstat(p->fd, &st)) {
		xiw_fail(0, "cannot open %s: %s", p->shown, strerror(errno));
		return false;
	}
	if (!S_ISREG(st.st_mode)) {
		xiw_fail(0, "%s is not a regular file", p->shown);
		return false;
	}
	if (strlen(name) > XIW_XFER_NAME_MAX) {
		xiw_fail(0, "%s: the name is longer than %d octets", p->shown, XIW_XFER_NAME_MAX);
		return false;
	}
	memcpy(x->name, name, strlen(name));
	x->mode = st.st_mode & 0777;
	x->size = p->size = st.st_size;
	return true;
}

static void offer(struct put *p)
{
	struct xiw_xfer x = { .type = XIW_XFER_OFFER };

	p->queued = p->sent = p->used = p->granted = 0;
	p->ngrants = 0;
	if (!open_file(p, &x)) {
		skip(p, XIW_EXIT_FAILURE);
		return;
	}
	if (!EVP_DigestInit_ex(p->digest, EVP_sha256(), NULL) || send_control(p, OFFER, &x)) {
		xiw_fail(0, "%s: cannot be offered", p->shown);
		fail(p, XIW_EXIT_FAILURE);
		return;
	}
	p->state = ST_OFFERED;
}

/* -1: the file cannot be read, or is shorter than it was. */
static int read_chunk(struct put *p, uint8_t *buf, size_t len)
{
	size_t got = 0;

	while (got < len) {
		ssize_t n = pread(p->fd, buf + got, len - got, (off_t)(p->queued + got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			xiw_fail(0, "%s: %s", p->shown,
				 n ? strerror(errno) : "became shorter while it was sent");
			return -1;
		}
		got += n;
	}
	return EVP_DigestUpdate(p->digest, buf, len) ? 0 : -1;
}

static void finish_sending(struct put *p)
{
	struct xiw_xfer x = { .type = XIW_XFER_DONE };

	EVP_DigestFinal_ex(p->digest, x.sha256, NULL);
	memcpy(p->sha256, x.sha256, sizeof(p->sha256));
	if (send_control(p, DONE, &x)) {
		xiw_fail(0, "%s: the connection broke", p->shown);
		fail(p, XIW_EXIT_PEER);
		return;
	}
	p->state = ST_DONE;
}

static bool send_chunk(struct put *p, int i)
{
	const struct xiw_xfer *grant = &p->grants[0];
	uint64_t left = grant->length - p->used;
	struct xiw_message m = {
		.buf = p->chunks + (size_t)i * CHUNK,
		.len = left < CHUNK ? left : CHUNK,
		.to = grant->base_to + p->used,
		.stag = grant->stag,
		.tagged = true,
		.user_data = i,
	};
	int err;

	if (read_chunk(p, p->chunks + (size_t)i * CHUNK, m.len)) {
		fail(p, XIW_EXIT_FAILURE);
		return false;
	}
	err = xiw_conn_send(p->conn, &m);
	if (err) {
		xiw_fail(0, "%s: cannot send: %s", p->shown, strerror(-err));
		fail(p, XIW_EXIT_PEER);
		return false;
	}
	p->busy[i] = true;
	p->queued += m.len;
	p->used += m.len;
	if (p->used == grant->length) {
		p->used = 0;
		p->grants[0] = p->grants[1];
		p->ngrants--;
	}
	return true;
}

static void send_chunks(struct put *p)
{
	for (int i = 0; i < CHUNKS && p->ngrants; i++)
		if (!p->busy[i] && !send_chunk(p, i))
			return;
	if (p->queued == p->size && !p->control_busy[DONE])
		finish_sending(p);
}

static void report(struct put *p, bool equal)
{
	double seconds = (double)(p->end_ns - p->start_ns) / 1e9;
	double gbit = seconds > 0 ? (double)p->size * 8 / seconds / 1e9 : 0;
	char hex[2 * XIW_XFER_SHA256 + 1], size[32], time[32], rate[32];
	struct json_object *o;

	xiw_xfer_hex(p->sha256, hex);
	if (!p->args->json) {
		printf("%s: %s in %s, %s, SHA-256 %s at the far end\n", p->shown,
		       xiw_octets(p->size, size), xiw_seconds(seconds, time),
		       xiw_rate(p->size, seconds, rate), equal ? "equal" : "DIFFERENT");
		fflush(stdout);
		return;
	}
	o = json_object_new_object();
	xiw_json_str(o, "file", p->path);
	xiw_json_u64(o, "octets", p->size);
	json_object_object_add(o, "digest_equal", json_object_new_boolean(equal));
	xiw_json_str(o, "sha256", hex);
	xiw_json_f(o, "seconds", seconds, "%.9f");
	xiw_json_f(o, "gbit_per_s", gbit, "%.4f");
	xiw_json_print(o);
}

static void on_grant(struct put *p, const struct xiw_xfer *x)
{
	if (x->status) {
		xiw_fail(0, "%s was refused: %s", p->shown, xiw_xfer_status_name(x->status));
		skip(p, XIW_EXIT_PEER);
		return;
	}
	if (!x->length != (p->granted == p->size) || x->length > p->size - p->granted ||
	    p->ngrants == GRANTS || (x->length && x->base_to + (x->length - 1) < x->base_to)) {
		xiw_fail(0, "%s: the receiver's grant makes no sense", p->target);
		fail(p, XIW_EXIT_PEER);
		return;
	}
	p->granted += x->length;
	if (x->length)
		p->grants[p->ngrants++] = *x;
	if (p->state == ST_OFFERED)
		p->start_ns = xiw_now_ns();
	p->state = ST_SENDING;
}

static void on_result(struct put *p, const struct xiw_xfer *x)
{
	bool equal = x->status == XIW_XFER_OK && x->size == p->size;

	p->end_ns = p->end_ns ? p->end_ns : xiw_now_ns();
	draw(p, true);
	if (equal || x->status == XIW_XFER_MISMATCH)
		report(p, equal);
	if (!equal) {
		xiw_fail(0, "%s was not accepted: %s", p->shown, xiw_xfer_status_name(x->status));
		skip(p, x->status == XIW_XFER_MISMATCH ? XIW_EXIT_VERIFY : XIW_EXIT_PEER);
	}
	p->state = ST_READY;
}

static void on_received(struct put *p, const struct xiw_completion *c)
{
	size_t index = c->user_data - UD_RECV;
	struct xiw_xfer x;

	if (c->status || index >= RECVS)
		return;
	if (!xiw_xfer_decode(&x, p->recv[index], c->length) && x.type == XIW_XFER_GRANT &&
	    (p->state == ST_OFFERED || p->state == ST_SENDING)) {
		on_grant(p, &x);
	} else if (!xiw_xfer_decode(&x, p->recv[index], c->length) && x.type == XIW_XFER_RESULT &&
		   p->state == ST_DONE) {
		on_result(p, &x);
	} else {
		xiw_fail(0, "%s does not speak this protocol: is it 'xiwarp serve'?", p->target);
		fail(p, XIW_EXIT_PEER);
		return;
	}
	xiw_conn_post_recv(p->conn, 0, p->recv[index], XIW_XFER_MAX, c->user_data);
}

static void on_closed(struct put *p)
{
	struct xiw_conn_info info;

	p->closed = true;
	if (p->state == ST_FAILED || p->state == ST_CLOSED)
		return;
	xiw_conn_info(p->conn, &info, sizeof(info));
	if (p->state != ST_CONNECTING)
		xiw_fail(0, "%s ended the connection: %s", p->target,
			 info.error	  ? strerror(info.error)
			 : info.mpa_error ? xiw_mpa_error_name(info.mpa_error)
			 : info.ddp_error ? xiw_ddp_error_name(info.ddp_error)
					  : "closed before the transfer was complete");
	fail(p, XIW_EXIT_PEER);
}

static void on_completion(struct put *p, const struct xiw_completion *c)
{
	/* The last words of an address that was tried before this one. */
	if (c->conn != p->conn)
		return;
	switch (c->event) {
	case XIW_EV_CONNECTED:
		p->state = ST_READY;
		break;
	case XIW_EV_REFUSED:
		p->connect_error = c->status ? c->status : -ECONNREFUSED;
		on_closed(p);
		break;
	case XIW_EV_CLOSED:
		if (c->status && !p->connect_error)
			p->connect_error = c->status;
		on_closed(p);
		break;
	case XIW_EV_ERROR:
		xiw_conn_abort(p->conn);
		break;
	case XIW_EV_EOF:
		if (p->state != ST_CLOSED && p->state != ST_FAILED) {
			xiw_fail(0, "%s ended the connection early", p->target);
			fail(p, XIW_EXIT_PEER);
		}
		break;
	case XIW_EV_SENT:
	case XIW_EV_FLUSHED:
		if (c->user_data < CHUNKS) {
			p->busy[c->user_data] = false;
			if (c->event == XIW_EV_SENT)
				p->sent += c->length;
		} else if (c->user_data == UD_CONTROL + OFFER) {
			p->control_busy[OFFER] = false;
		} else if (c->user_data == UD_CONTROL + DONE) {
			p->control_busy[DONE] = false;
			/* All before DONE was given to TCP; what is left in its buffer is not counted. */
			if (p->state == ST_DONE)
				p->end_ns = xiw_now_ns();
		}
		break;
	case XIW_EV_RECEIVED:
		on_received(p, c);
		break;
	default:
		break;
	}
}

/* One turn of the engine. False: stop now. */
static bool turn(struct put *p)
{
	struct xiw_completion c;
	int n;

	if (!xiw_go_on())
		return false;
	n = xiw_engine_run(p->engine, 250);
	if (n < 0 && n != -EINTR) {
		xiw_fail(0, "the engine failed: %s", strerror(-n));
		fail(p, XIW_EXIT_FAILURE);
		return false;
	}
	while (xiw_engine_next(p->engine, &c) > 0)
		on_completion(p, &c);
	return xiw_go_on();
}

static void put_file(struct put *p, const char *path)
{
	p->path = path;
	p->fd = -1;
	p->end_ns = 0;
	while (p->control_busy[OFFER] && p->state == ST_READY)
		if (!turn(p))
			return;
	if (p->state == ST_READY)
		offer(p);
	while (p->state == ST_OFFERED || p->state == ST_SENDING || p->state == ST_DONE) {
		if (p->state == ST_SENDING) {
			send_chunks(p);
			draw(p, false);
		}
		if (!turn(p))
			break;
	}
	if (p->fd >= 0)
		close(p->fd);
}

static bool connect_to(struct put *p, const struct addrinfo *ai)
{
	struct xiw_conn_opts opts = {
		.size = sizeof(opts), .user_data = UD_CONN, .queues = 1, .path = XIW_USE_KERNEL
	};

	p->state = ST_CONNECTING;
	p->closed = false;
	memset(&p->last, 0, sizeof(p->last));
	p->connect_error = xiw_connect(p->engine, ai->ai_addr, ai->ai_addrlen, &opts, &p->conn);
	if (p->connect_error)
		return false;
	for (int i = 0; i < RECVS && !p->connect_error; i++)
		p->connect_error =
			xiw_conn_post_recv(p->conn, 0, p->recv[i], XIW_XFER_MAX, UD_RECV + i);
	while (!p->connect_error && p->state == ST_CONNECTING && turn(p))
		;
	if (p->state == ST_READY)
		return true;
	xiw_conn_info(p->conn, &p->last, sizeof(p->last));
	xiw_conn_free(p->conn);
	p->conn = NULL;
	return false;
}

static int connect_any(struct put *p)
{
	struct addrinfo *list;
	int code = xiw_resolve(p->target, false, &list);
	bool done = false;

	if (code)
		return code;
	for (const struct addrinfo *ai = list; ai && !done && !xiw_stop_signal; ai = ai->ai_next)
		done = connect_to(p, ai);
	freeaddrinfo(list);
	p->code = 0;
	if (done || xiw_stop_signal)
		return 0;
	if (!p->last.error)
		p->last.error = -p->connect_error;
	return xiw_connect_failed(p->target, &p->last, "xiwarp serve");
}

static void close_orderly(struct put *p)
{
	bool failed = p->state == ST_FAILED;
	uint64_t limit = xiw_now_ns() + 5000000000ull;

	if (failed || xiw_stop_signal || xiw_conn_close(p->conn)) {
		xiw_conn_abort(p->conn);
		return;
	}
	p->state = ST_CLOSED;
	while (!p->closed && turn(p) && xiw_now_ns() < limit)
		;
}

static int run_with_engine(struct put *p)
{
	int code = connect_any(p);

	if (code || xiw_stop_signal)
		return code;
	for (int i = 0; i < p->args->nwords - 1 && p->state == ST_READY && !xiw_stop_signal; i++)
		put_file(p, p->args->words[i]);
	close_orderly(p);
	xiw_conn_free(p->conn);
	return p->code;
}

static int run_put(const struct xiw_args *args)
{
	struct xiw_engine_opts opts = { .size = sizeof(opts),
					.app_ring_fd = -1,
					.path = XIW_USE_KERNEL };
	struct put p = { .args = args, .target = args->words[args->nwords - 1], .fd = -1 };
	int code, err;

	xiw_catch_signals();
	code = xiw_caps_drop(args->cmd->name, false, XIW_CAPS_READ, NULL);
	if (code)
		return code;
	for (int i = 0; i < args->nwords - 1; i++) {
		char shown[256];

		if (faccessat(AT_FDCWD, args->words[i], R_OK, AT_EACCESS))
			return xiw_fail(XIW_EXIT_FAILURE, "cannot read %s: %s",
					xiw_printable(args->words[i], shown, sizeof(shown)),
					strerror(errno));
	}
	p.chunks = malloc((size_t)CHUNK * CHUNKS);
	p.digest = EVP_MD_CTX_new();
	err = p.chunks && p.digest ? xiw_engine_create(&opts, &p.engine) : -ENOMEM;
	if (err) {
		code = xiw_engine_failed(err);
	} else {
		code = run_with_engine(&p);
		xiw_engine_destroy(p.engine);
	}
	EVP_MD_CTX_free(p.digest);
	free(p.chunks);
	return xiw_exit_stopped(code);
}

static const struct xiw_opt put_opts[] = { { 0, NULL, NULL, NULL } };

const struct xiw_cmd xiw_cmd_put = {
	.name = "put",
	.synopsis = "FILE... HOST[:PORT]",
	.summary = "send files to a host that runs 'xiwarp serve'",
	.text = "Sends each FILE under its own name, in order, over one connection, and has the "
		"far end check "
		"its SHA-256. HOST is a name or an address; [ADDRESS]:PORT for IPv6 with a port; "
		"the default "
		"port is " XIW_PORT
		". On a terminal it shows progress, rate and the time left. Needs no "
		"privilege and no XDP: the sender is ordinary TCP.",
	.examples = "xiwarp put big.iso receiver.example\n"
		    "xiwarp put a.dat b.dat [2001:db8::7]:" XIW_PORT "\n",
	.opts = put_opts,
	.min_words = 2,
	.max_words = -1,
	.run = run_put,
};
