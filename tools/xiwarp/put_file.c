// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* One file on its way: what has been read of it is sent as far as the receiver has granted it. */
#include "put.h"
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exit.h"
#include "json.h"
#include "progress.h"
#include "text.h"

#define DRAW_NS 100000000

/* This file cannot be sent, but the next one can. */
static void skip(struct xiw_put *p, int code)
{
	p->state = XIW_PUT_READY;
	if (!p->code)
		p->code = code;
}

void xiw_put_draw(struct xiw_put *p, bool last)
{
	struct xiw_put_file *f = &p->file;
	uint64_t now = xiw_now_ns();

	if (p->args->json || p->args->put.connections > 1 || !isatty(STDERR_FILENO) ||
	    (!last && now - f->drawn_ns < DRAW_NS))
		return;
	f->drawn_ns = now;
	xiw_progress(f->shown, p->reader.sent, f->size, (double)(now - f->start_ns) / 1e9, last);
}

static int send_control(struct xiw_put *p, enum xiw_put_control which, const struct xiw_xfer *x)
{
	struct xiw_message m = { .buf = p->control[which], .user_data = XIW_PUT_CONTROL + which };
	int err;

	m.len = xiw_xfer_encode(x, p->control[which]);
	err = xiw_conn_send(p->conn, &m);
	p->control_busy[which] = !err;
	return err;
}

/* ---- the offer ----------------------------------------------------------------------------------- */

/* Opens the file, and writes to `x` what is to be offered. */
static bool open_file(struct xiw_put *p, struct xiw_xfer *x)
{
	struct xiw_put_file *f = &p->file;
	const char *slash = strrchr(f->path, '/');
	const char *name = slash ? slash + 1 : f->path;
	struct stat st;
	char octet;

	/* A path that ends with a slash has no name: it is shown whole. */
	xiw_printable(*name ? name : f->path, f->shown, sizeof(f->shown));
	p->reader.fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (p->reader.fd < 0 || fstat(p->reader.fd, &st)) {
		xiw_fail(0, "cannot open %s: %s", f->shown, strerror(errno));
		return false;
	}
	if (!S_ISREG(st.st_mode)) {
		xiw_fail(0, "%s is not a regular file", f->shown);
		return false;
	}
	/* A file of /proc or /sys says that it is empty, and is not. */
	if (!st.st_size && pread(p->reader.fd, &octet, 1, 0) > 0) {
		xiw_fail(0, "%s has no size before it is read: send a copy of it", f->shown);
		return false;
	}
	if (strlen(name) > XIW_XFER_NAME_MAX) {
		xiw_fail(0, "%s: the name is longer than %d octets", f->shown, XIW_XFER_NAME_MAX);
		return false;
	}
	memcpy(x->name, name, strlen(name));
	x->mode = st.st_mode & 0777;
	x->size = f->size = st.st_size;
	x->kind = p->args->put.sha256 ? XIW_DIGEST_SHA256 : XIW_DIGEST_GMAC;
	return true;
}

void xiw_put_offer(struct xiw_put *p)
{
	struct xiw_xfer x = { .type = XIW_XFER_OFFER };

	if (!open_file(p, &x)) {
		skip(p, XIW_EXIT_FAILURE);
		return;
	}
	if (getrandom(x.key, sizeof(x.key), 0) != sizeof(x.key) ||
	    !xiw_put_read_begin(p, p->file.size, &x) || send_control(p, XIW_PUT_OFFER, &x)) {
		xiw_fail(0, "%s: cannot be offered", p->file.shown);
		xiw_put_fail(p, XIW_EXIT_FAILURE);
		return;
	}
	p->state = XIW_PUT_OFFERED;
}

static void on_grant(struct xiw_put *p, const struct xiw_xfer *x)
{
	struct xiw_put_file *f = &p->file;

	if (x->status) {
		xiw_fail(0, "%s was refused: %s", f->shown, xiw_xfer_status_name(x->status));
		skip(p, XIW_EXIT_PEER);
		return;
	}
	if (!x->length != (f->granted == f->size) || x->length > f->size - f->granted ||
	    f->ngrants == XIW_PUT_GRANTS ||
	    (x->length && x->base_to + (x->length - 1) < x->base_to)) {
		xiw_fail(0, "%s: the receiver's grant makes no sense", p->target);
		xiw_put_fail(p, XIW_EXIT_PEER);
		return;
	}
	f->granted += x->length;
	if (x->length)
		f->grants[f->ngrants++] = *x;
	if (p->state == XIW_PUT_OFFERED)
		f->start_ns = xiw_now_ns();
	p->state = XIW_PUT_SENDING;
}

/* ---- the octets ---------------------------------------------------------------------------------- */

/* The next octets that have been read, up to the end of a chunk or of the grant. */
static bool send_chunk(struct xiw_put *p)
{
	struct xiw_put_file *f = &p->file;
	const struct xiw_xfer *grant = &f->grants[0];
	uint64_t len = XIW_PUT_CHUNK - f->queued % XIW_PUT_CHUNK;
	struct xiw_message m = {
		.buf = p->reader.ring + f->queued % XIW_PUT_RING,
		.to = grant->base_to + f->used,
		.stag = grant->stag,
		.tagged = true,
		.user_data = XIW_PUT_CHUNK_SENT,
	};
	int err;

	if (len > p->reader.read - f->queued)
		len = p->reader.read - f->queued;
	if (len > grant->length - f->used)
		len = grant->length - f->used;
	m.len = len;
	err = xiw_conn_send(p->conn, &m);
	if (err) {
		xiw_fail(0, "%s: cannot send: %s", f->shown, strerror(-err));
		xiw_put_fail(p, XIW_EXIT_PEER);
		return false;
	}
	p->chunks++;
	f->queued += len;
	f->used += len;
	if (f->used == grant->length) {
		f->used = 0;
		f->grants[0] = f->grants[1];
		f->ngrants--;
	}
	return true;
}

static bool read_failed(struct xiw_put *p)
{
	const int err = p->reader.err;

	if (!err)
		return false;
	xiw_fail(0, "%s: %s", p->file.shown,
		 err == XIW_PUT_SHORTER ? "became shorter while it was sent" : strerror(err));
	xiw_put_fail(p, XIW_EXIT_FAILURE);
	return true;
}

void xiw_put_send_chunks(struct xiw_put *p)
{
	struct xiw_put_file *f = &p->file;
	struct xiw_xfer x = { .type = XIW_XFER_DONE };

	if (read_failed(p))
		return;
	/* Grants may be small, and the queue of messages is not endless. */
	while (f->ngrants && f->queued < p->reader.read && p->chunks < XIW_PUT_CHUNKS)
		if (!send_chunk(p))
			return;
	if (f->queued != f->size || p->control_busy[XIW_PUT_DONE])
		return;
	if (!xiw_digest_finish(&p->reader.digest, x.digest)) {
		xiw_fail(0, "%s: cannot be digested", f->shown);
		xiw_put_fail(p, XIW_EXIT_FAILURE);
		return;
	}
	memcpy(f->digest, x.digest, sizeof(f->digest));
	if (send_control(p, XIW_PUT_DONE, &x)) {
		xiw_fail(0, "%s: the connection broke", f->shown);
		xiw_put_fail(p, XIW_EXIT_PEER);
		return;
	}
	p->state = XIW_PUT_DIGESTING;
}

/* ---- the result ---------------------------------------------------------------------------------- */

static void report(const struct xiw_put *p, bool equal)
{
	const struct xiw_put_file *f = &p->file;
	/* Until the far end has verified the file and keeps it. */
	double seconds = (double)(xiw_now_ns() - f->start_ns) / 1e9;
	enum xiw_digest_kind kind = p->args->put.sha256 ? XIW_DIGEST_SHA256 : XIW_DIGEST_GMAC;
	char size[32], time[32], rate[32];
	struct json_object *o;

	if (!p->args->json) {
		printf("%s: %s in %s, %s, %s %s at the far end\n", f->shown,
		       xiw_octets(f->size, size), xiw_seconds(seconds, time),
		       xiw_rate(f->size, seconds, rate), xiw_digest_name(kind),
		       equal ? "equal" : "DIFFERENT");
		fflush(stdout);
		return;
	}
	o = json_object_new_object();
	xiw_json_str(o, "file", f->path);
	xiw_json_u64(o, "octets", f->size);
	xiw_json_bool(o, "digest_equal", equal);
	xiw_json_str(o, "digest", xiw_digest_name(kind));
	if (kind == XIW_DIGEST_SHA256)
		xiw_json_hex(o, "sha256", f->digest, sizeof(f->digest));
	xiw_json_f(o, "seconds", seconds, "%.9f");
	xiw_json_f(o, "gbit_per_s", xiw_gbit_per_s(f->size, seconds), "%.4f");
	xiw_json_ring(o);
	xiw_json_print(o);
}

static void on_result(struct xiw_put *p, const struct xiw_xfer *x)
{
	struct xiw_put_file *f = &p->file;
	bool equal = x->status == XIW_XFER_OK && x->size == f->size;

	xiw_put_draw(p, true);
	if (equal || x->status == XIW_XFER_MISMATCH)
		report(p, equal);
	if (!equal) {
		xiw_fail(0, "%s was not accepted: %s", f->shown,
			 x->status == XIW_XFER_OK ? "the receiver has another length of it"
						  : xiw_xfer_status_name(x->status));
		skip(p, x->status == XIW_XFER_MISMATCH ? XIW_EXIT_VERIFY : XIW_EXIT_PEER);
	}
	p->state = XIW_PUT_READY;
}

bool xiw_put_received(struct xiw_put *p, const struct xiw_xfer *x)
{
	if (x->type == XIW_XFER_GRANT &&
	    (p->state == XIW_PUT_OFFERED || p->state == XIW_PUT_SENDING))
		on_grant(p, x);
	else if (x->type == XIW_XFER_RESULT && p->state == XIW_PUT_DIGESTING)
		on_result(p, x);
	else
		return false;
	return true;
}
