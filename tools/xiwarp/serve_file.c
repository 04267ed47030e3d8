// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A file that comes: space is allocated and granted window by window, then the file is complete and gets its name. */
#include "serve.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "exit.h"
#include "report.h"
#include "telling.h"
#include "text.h"

/*
 * Octets that are allocated and granted at once. Each window is as large as all before it together, and allocated while
 * the one before comes, so that a peer can make serve allocate at most four times what it has sent. In the ring it has
 * one place, since its length is a power of two that divides its offset. Two windows are granted at a time, and two are
 * being written.
 */
#define WINDOW_FIRST (1u << 20)
#define WINDOWS 4 /* of the largest size, in a ring */

_Static_assert(WINDOW_FIRST <= XIW_STORE_RING_LEAST / WINDOWS, "the first window is too large");

static struct xiw_serve *serve_of(struct xiw_serve_peer *p)
{
	return (struct xiw_serve *)p->peer.receiver;
}

static const struct xiw_args *args_of(const struct xiw_serve_peer *p)
{
	return p->peer.receiver->args;
}

static void free_regions(struct xiw_serve_peer *p)
{
	xiw_region_free(p->window.region);
	xiw_region_free(p->window.older);
	p->window.region = p->window.older = NULL;
}

void xiw_serve_drop(struct xiw_serve_peer *p)
{
	/* Before the ring goes: nothing may be placed there any more, and nothing written from it. */
	free_regions(p);
	if (p->storing) {
		xiw_serve_work_drop(p);
		xiw_store_end(&p->store);
	}
	p->storing = false;
	p->state = XIW_SERVE_IDLE;
}

/* The peer is told the status; standard error also gets the cause. */
static void not_taken(const struct xiw_serve_peer *p, const char *how, const char *name,
		      enum xiw_xfer_status status)
{
	const int err = p->store.err;
	char shown[XIW_XFER_NAME_MAX + 1];

	if (xiw_may_tell())
		xiw_fail(0, "%s: %s '%s': %s%s%s", p->peer.name, how,
			 xiw_printable(name, shown, sizeof(shown)), xiw_xfer_status_name(status),
			 err ? ": " : "", err ? strerror(err) : "");
}

/* ---- windows ------------------------------------------------------------------------------------- */

static uint64_t next_size(const struct xiw_serve_peer *p)
{
	const uint64_t left = p->store.size - p->window.granted;
	const uint64_t most =
		(p->store.room < p->store.size ? p->store.room : XIW_STORE_RING) / WINDOWS;
	uint64_t len = p->window.granted ? p->window.granted : WINDOW_FIRST;

	if (len > most)
		len = most;
	return len < left ? len : left;
}

/* Lets the peer write the next octets of the file, which are allocated. */
static enum xiw_xfer_status next_window(struct xiw_serve_peer *p, struct xiw_xfer *grant)
{
	struct xiw_region_opts opts = { .size = sizeof(opts), .conn = p->peer.conn };
	const uint64_t len = next_size(p);
	struct xiw_region *region;
	int err;

	err = xiw_region_register(p->peer.receiver->engine,
				  xiw_store_place(&p->store, p->window.granted), len, &opts,
				  &region);
	if (err) {
		p->store.err = -err;
		return XIW_XFER_FAILED;
	}
	/* The window before the last one has come completely. */
	xiw_region_free(p->window.older);
	p->window.older = p->window.region;
	p->window.region = region;
	p->window.size = len;
	p->window.granted += len;
	grant->stag = xiw_region_stag(region);
	grant->length = len;
	return XIW_XFER_OK;
}

static void grant_more(struct xiw_serve_peer *p)
{
	struct xiw_message m = { .buf = p->window.message, .user_data = XIW_SERVE_GRANT };
	struct xiw_xfer grant = { .type = XIW_XFER_GRANT, .status = p->work.status };

	if (!grant.status)
		grant.status = next_window(p, &grant);
	if (grant.status) {
		not_taken(p, p->window.received ? "did not keep" : "refused", p->store.name,
			  (enum xiw_xfer_status)grant.status);
		xiw_receiver_fail(p->peer.receiver, XIW_EXIT_FAILURE);
		p->state = XIW_SERVE_REFUSED;
	}
	m.len = xiw_xfer_encode(&grant, p->window.message);
	if (xiw_conn_send(p->peer.conn, &m))
		xiw_serve_end(p, "an answer to it could not be sent");
	p->window.sending = true;
}

/*
 * The first `octets` of the file have come. With an STag the peer could change what has been written already: RFC 5042
 * section 6.2.2.
 */
static void settle(struct xiw_serve_peer *p, uint64_t octets)
{
	if (octets <= p->work.settled)
		return;
	p->work.settled = octets;
	xiw_serve_work_add(p);
}

/* Says whether octets up to `next` may come, and half of the last window has. */
static bool has_room(const struct xiw_serve_peer *p, uint64_t next)
{
	return p->store.allocated >= next && p->store.written + p->store.room >= next &&
	       p->window.received + p->window.size / 2 >= p->window.granted;
}

static void receive(struct xiw_serve_peer *p)
{
	const uint64_t before = p->window.granted - p->window.size; /* the last window */
	const uint64_t next = p->window.granted + next_size(p);

	if (p->window.older && p->window.received >= before) {
		xiw_region_free(p->window.older);
		p->window.older = NULL;
		settle(p, before);
	}
	if (p->window.granted == p->store.size)
		return;
	if (p->window.received > before && p->work.wanted < next) {
		p->work.wanted = next;
		xiw_serve_work_add(p);
	}
	if (!p->window.sending && (p->work.status || has_room(p, next)))
		grant_more(p);
}

static enum xiw_xfer_status open_file(struct xiw_serve_peer *p, const struct xiw_xfer *offer,
				      struct xiw_xfer *grant)
{
	const struct xiw_args *args = args_of(p);
	struct xiw_conn_info info;
	const struct xiw_store_limits limits = { .memory = serve_of(p)->memory,
						 .peer = &info.remote,
						 .keep_free = args->serve.keep_free };
	enum xiw_xfer_status status;

	p->store.err = 0;
	if (args->serve.max_size && offer->size > args->serve.max_size)
		return XIW_XFER_TOO_LARGE;
	xiw_conn_info(p->peer.conn, &info, sizeof(info));
	status = xiw_store_begin(&p->store, serve_of(p)->dir, args->force, &limits, offer);
	p->storing = status == XIW_XFER_OK;
	p->kind = offer->kind;
	p->window.size = p->window.granted = p->window.received = 0;
	xiw_serve_work_begin(p, args->serve.keep_free);
	if (status || !p->store.size)
		return status;
	p->work.wanted = next_size(p);
	xiw_serve_work_now(p);
	return p->work.status ? p->work.status : next_window(p, grant);
}

void xiw_serve_offer(struct xiw_serve_peer *p, size_t slot, const struct xiw_xfer *offer)
{
	struct xiw_xfer grant = { .type = XIW_XFER_GRANT };

	xiw_serve_drop(p);
	grant.status = open_file(p, offer, &grant);
	if (grant.status) {
		not_taken(p, "refused", offer->name, (enum xiw_xfer_status)grant.status);
		xiw_serve_drop(p);
	} else {
		p->state = XIW_SERVE_RECEIVING;
		p->first_ns = 0;
		xiw_conn_info(p->peer.conn, &p->before, sizeof(p->before));
		xiw_activity_note(&p->activity, xiw_serve_octets(&p->before), xiw_now_ns());
	}
	xiw_serve_reply(p, slot, &grant);
}

/* ---- the end of a file --------------------------------------------------------------------------- */

void xiw_serve_done(struct xiw_serve_peer *p, size_t slot, const struct xiw_xfer *done)
{
	p->done_slot = slot;
	p->last_ns = xiw_now_ns();
	if (!p->first_ns)
		p->first_ns = p->last_ns;
	xiw_conn_info(p->peer.conn, &p->after, sizeof(p->after));
	xiw_activity_note(&p->activity, xiw_serve_octets(&p->after), p->last_ns);
	memcpy(p->expected, done->digest, sizeof(p->expected));
	free_regions(p);
	p->state = XIW_SERVE_WRITING;
	settle(p, p->store.size);
	xiw_serve_go_on(p);
}

struct report {
	const char *name;
	bool equal;
	uint64_t direct, kernel, handoffs; /* of this file */
	double seconds, digest_seconds;
};

static void report_text(const struct xiw_serve_peer *p, const struct report *r)
{
	char size[32], time[32], rate[32] = "", digest[32], why[128];

	/* A file that came in one turn of the engine has no rate. */
	if (r->seconds > 0)
		xiw_rate(p->store.size, r->seconds, rate);
	printf("%s from %s: %s in %s, %s%s%.2f %% direct, %" PRIu64 " hand-off%s, %s %s (%s)%s\n",
	       r->name, p->peer.name, xiw_octets(p->store.size, size),
	       xiw_seconds(r->seconds, time), rate, *rate ? ", " : "",
	       100 * xiw_share(r->direct, r->kernel), r->handoffs, r->handoffs == 1 ? "" : "s",
	       xiw_digest_name(p->kind), r->equal ? "equal" : "DIFFERENT",
	       xiw_seconds(r->digest_seconds, digest), xiw_no_direct_text(&p->after, why));
	fflush(stdout);
}

static void report_json(const struct xiw_serve_peer *p, const struct report *r,
			const uint8_t digest[XIW_DIGEST_SIZE])
{
	struct json_object *o = json_object_new_object();

	xiw_json_str(o, "file", r->name);
	xiw_json_str(o, "peer", p->peer.name);
	xiw_json_u64(o, "octets", p->store.size);
	xiw_json_bool(o, "digest_equal", r->equal);
	xiw_json_octets(o, r->direct, r->kernel);
	xiw_json_f(o, "gbit_per_s", xiw_gbit_per_s(p->store.size, r->seconds), "%.4f");
	xiw_json_u64(o, "hand_offs", r->handoffs);
	xiw_json_str(o, "digest", xiw_digest_name(p->kind));
	if (p->kind == XIW_DIGEST_SHA256)
		xiw_json_hex(o, "sha256", digest, XIW_DIGEST_SIZE);
	xiw_json_f(o, "seconds", r->seconds, "%.9f");
	xiw_json_f(o, "digest_seconds", r->digest_seconds, "%.9f");
	xiw_json_reasons(o, p->after.reasons);
	xiw_json_direct(o, &p->after);
	xiw_json_print(o);
}

static void report(struct xiw_serve_peer *p, const uint8_t digest[XIW_DIGEST_SIZE], bool equal)
{
	char shown[XIW_XFER_NAME_MAX + 1];
	struct report r = {
		.name = xiw_printable(p->store.name, shown, sizeof(shown)),
		.equal = equal,
		.direct = p->after.octets_direct - p->before.octets_direct,
		.kernel = p->after.octets_kernel - p->before.octets_kernel,
		.handoffs = p->after.went_direct + p->after.went_kernel - p->handoffs,
		.seconds = (double)(p->last_ns - p->first_ns) / 1e9,
		.digest_seconds = (double)(xiw_now_ns() - p->last_ns) / 1e9,
	};

	p->handoffs += r.handoffs;
	if (args_of(p)->json)
		report_json(p, &r, digest);
	else
		report_text(p, &r);
}

/* All octets are written, or an error has come. */
static void keep(struct xiw_serve_peer *p)
{
	struct xiw_xfer result = { .type = XIW_XFER_RESULT, .size = p->store.size };
	uint8_t digest[XIW_DIGEST_SIZE];
	bool done, equal;

	xiw_serve_work_drop(p);
	done = !p->work.status && xiw_digest_finish(&p->store.digest, digest);
	equal = done && !memcmp(digest, p->expected, sizeof(digest));
	result.status = p->work.status ? p->work.status
			: !done	       ? XIW_XFER_FAILED
			: equal	       ? xiw_store_commit(&p->store)
				       : XIW_XFER_MISMATCH;
	if (done)
		report(p, digest, equal);
	if (result.status) {
		not_taken(p, "did not keep", p->store.name, (enum xiw_xfer_status)result.status);
		xiw_receiver_fail(p->peer.receiver, equal ? XIW_EXIT_FAILURE : XIW_EXIT_VERIFY);
	}
	xiw_serve_drop(p);
	xiw_serve_reply(p, p->done_slot, &result);
}

void xiw_serve_go_on(struct xiw_serve_peer *p)
{
	if (p->state == XIW_SERVE_RECEIVING)
		receive(p);
	else if (p->state == XIW_SERVE_WRITING &&
		 (p->work.status || p->store.written == p->store.size))
		keep(p);
}
