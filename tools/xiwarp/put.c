// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* `xiwarp put`: the sending side of xfer.h. */
#include "put.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "address.h"
#include "caps.h"
#include "endpoint.h"
#include "ends.h"
#include "exit.h"
#include "receiver_opts.h"
#include "signals.h"
#include "text.h"

#define TURN_MS 250 /* a turn waits no longer, so that progress is drawn */
#define NS 1000000000ull
#define CLOSE_NS (5 * NS)
#define SLOWEST_DISK (4u << 20) /* octets that a server writes in a second, at least */

void xiw_put_fail(struct xiw_put *p, int code)
{
	p->state = XIW_PUT_FAILED;
	if (!p->code)
		p->code = code;
}

/* ---- completions --------------------------------------------------------------------------------- */

static void on_received(struct xiw_put *p, const struct xiw_completion *c)
{
	size_t index = c->user_data - XIW_PUT_RECV;
	struct xiw_xfer x;

	/* A GRANT may still come when the file cannot be read any more. */
	if (c->status || index >= XIW_PUT_RECVS || p->state == XIW_PUT_FAILED)
		return;
	if (xiw_xfer_decode(&x, p->recv[index], c->length) || !xiw_put_received(p, &x)) {
		xiw_fail(0, "%s does not speak this protocol: is it 'xiwarp serve'?", p->target);
		xiw_put_fail(p, XIW_EXIT_PEER);
		return;
	}
	xiw_conn_post_recv(p->conn, 0, p->recv[index], XIW_XFER_MAX, c->user_data);
}

/* A buffer may be used again. */
static void on_sent(struct xiw_put *p, const struct xiw_completion *c)
{
	if (c->user_data == XIW_PUT_CHUNK_SENT) {
		p->chunks--;
		xiw_put_read_on(p, c->event == XIW_EV_SENT ? c->length : 0);
	} else if (c->user_data <= XIW_PUT_CONTROL + XIW_PUT_DONE) {
		p->control_busy[c->user_data - XIW_PUT_CONTROL] = false;
	}
}

static void on_closed(struct xiw_put *p, const struct xiw_completion *c)
{
	struct xiw_conn_info info;

	p->closed = true;
	if (!p->connect_error)
		p->connect_error = c->status;
	if (p->state == XIW_PUT_FAILED || p->state == XIW_PUT_CLOSED)
		return;
	xiw_conn_info(p->conn, &info, sizeof(info));
	if (p->state != XIW_PUT_CONNECTING && info.error == ETIMEDOUT)
		xiw_fail(0, "%s does not answer any more", p->target);
	else if (p->state != XIW_PUT_CONNECTING)
		xiw_fail(0, "%s ended the connection: %s", p->target,
			 info.error	  ? strerror(info.error)
			 : info.mpa_error ? xiw_mpa_error_name(info.mpa_error)
			 : info.ddp_error ? xiw_ddp_error_name(info.ddp_error)
					  : "closed before the transfer was complete");
	xiw_put_fail(p, XIW_EXIT_PEER);
}

static void on_completion(struct xiw_put *p, const struct xiw_completion *c)
{
	/* A late event of an address that was tried before this one. */
	if (c->conn != p->conn)
		return;
	switch (c->event) {
	case XIW_EV_CONNECTED:
		p->state = XIW_PUT_READY;
		break;
	case XIW_EV_REFUSED:
		p->connect_error = c->status ? c->status : -ECONNREFUSED;
		on_closed(p, c);
		break;
	case XIW_EV_CLOSED:
		on_closed(p, c);
		break;
	case XIW_EV_ERROR:
		xiw_conn_abort(p->conn);
		break;
	case XIW_EV_EOF:
		if (p->state != XIW_PUT_CLOSED && p->state != XIW_PUT_FAILED) {
			xiw_fail(0, "%s ended the connection early", p->target);
			xiw_put_fail(p, XIW_EXIT_PEER);
		}
		break;
	case XIW_EV_SENT:
	case XIW_EV_FLUSHED:
		on_sent(p, c);
		break;
	case XIW_EV_RECEIVED:
		on_received(p, c);
		break;
	default:
		break;
	}
}

/* One turn of the engine; false: stop now. */
static bool turn(struct xiw_put *p)
{
	struct xiw_completion c;
	int code;

	if (!xiw_go_on())
		return false;
	code = xiw_endpoint_turn(p->engine, TURN_MS);
	if (code) {
		xiw_put_fail(p, code);
		return false;
	}
	while (xiw_engine_next(p->engine, &c) > 0)
		on_completion(p, &c);
	return xiw_go_on();
}

/* ---- the connection ------------------------------------------------------------------------------ */

static bool connect_to(struct xiw_put *p, const struct addrinfo *ai)
{
	struct xiw_conn_opts opts = {
		.size = sizeof(opts), .user_data = XIW_PUT_CONN, .queues = 1, .path = XIW_USE_KERNEL
	};

	xiw_endpoint_limits(p->args, &opts);
	p->state = XIW_PUT_CONNECTING;
	p->closed = false;
	memset(&p->last, 0, sizeof(p->last));
	p->connect_error = xiw_connect(p->engine, ai->ai_addr, ai->ai_addrlen, &opts, &p->conn);
	if (p->connect_error)
		return false;
	for (int i = 0; i < XIW_PUT_RECVS && !p->connect_error; i++)
		p->connect_error =
			xiw_conn_post_recv(p->conn, 0, p->recv[i], XIW_XFER_MAX, XIW_PUT_RECV + i);
	while (!p->connect_error && p->state == XIW_PUT_CONNECTING && turn(p))
		;
	if (p->state == XIW_PUT_READY)
		return true;
	xiw_conn_info(p->conn, &p->last, sizeof(p->last));
	xiw_conn_free(p->conn);
	p->conn = NULL;
	return false;
}

/* Connects to the first address that accepts. */
static int connect_any(struct xiw_put *p)
{
	bool done = false;

	for (const struct addrinfo *ai = p->all->addresses; ai && !done && !xiw_stop_signal;
	     ai = ai->ai_next)
		done = connect_to(p, ai);
	p->code = 0;
	if (done || xiw_stop_signal)
		return 0;
	if (!p->last.error)
		p->last.error = -p->connect_error;
	return xiw_connect_failed(p->target, &p->last, "xiwarp serve");
}

/* Everything has been sent that may be, and the peer is to speak. */
static bool waits(const struct xiw_put *p)
{
	const struct xiw_put_file *f = &p->file;

	return p->state == XIW_PUT_OFFERED ||
	       (!p->chunks && !p->control_busy[XIW_PUT_DONE] &&
		(p->state == XIW_PUT_DIGESTING ||
		 (p->state == XIW_PUT_SENDING && !f->ngrants && f->granted < f->size)));
}

/* A server answers an OFFER at once. For more room, and for the result, it may have to write what has come. */
static bool unanswered(struct xiw_put *p, uint64_t since_ns)
{
	uint64_t limit_s = p->args->receiver.peer_timeout + p->file.granted / SLOWEST_DISK;

	if (xiw_now_ns() - since_ns < limit_s * NS)
		return false;
	if (p->state == XIW_PUT_OFFERED)
		xiw_fail(0, "%s takes the connection and does not answer: is 'xiwarp serve' there?",
			 p->target);
	else
		xiw_fail(0, "%s does not answer any more: it has had %s for %" PRIu64 " s",
			 p->target, p->file.shown, limit_s);
	xiw_put_fail(p, XIW_EXIT_PEER);
	return true;
}

static void put_file(struct xiw_put *p, const char *path)
{
	uint64_t since_ns;

	/* The last file's OFFER, or octets of one that was refused, may not be known to be sent yet. */
	while ((p->control_busy[XIW_PUT_OFFER] || p->chunks) && p->state == XIW_PUT_READY)
		if (!turn(p))
			return;
	p->file = (struct xiw_put_file){ .path = path };
	if (p->state == XIW_PUT_READY)
		xiw_put_offer(p);
	since_ns = xiw_now_ns();
	while (p->state == XIW_PUT_OFFERED || p->state == XIW_PUT_SENDING ||
	       p->state == XIW_PUT_DIGESTING) {
		if (p->state == XIW_PUT_SENDING) {
			xiw_put_send_chunks(p);
			xiw_put_draw(p, false);
		}
		if (!turn(p))
			break;
		if (!waits(p))
			since_ns = xiw_now_ns();
		else if (unanswered(p, since_ns))
			break;
	}
	xiw_put_read_end(p);
}

static void close_conn(struct xiw_put *p)
{
	uint64_t limit = xiw_now_ns() + CLOSE_NS;

	if (p->state == XIW_PUT_FAILED || xiw_stop_signal || xiw_conn_close(p->conn)) {
		xiw_conn_abort(p->conn);
		return;
	}
	p->state = XIW_PUT_CLOSED;
	while (!p->closed && turn(p) && xiw_now_ns() < limit)
		;
}

/* ---- the command --------------------------------------------------------------------------------- */

static int run_one(struct xiw_put *p);

/* Signals are for the first thread. */
static void *run_thread(void *arg)
{
	struct xiw_put *p = arg;

	xiw_hold_signals();
	p->code = run_one(p);
	return NULL;
}

/* When the first connection stands, so that one line tells that there is no server. */
static int start_others(struct xiw_puts *all)
{
	const int nfiles = all->put[0].args->nwords - 1;
	int err = 0, most = (int)all->put[0].args->put.connections;

	if (most > nfiles)
		most = nfiles;
	for (; !err && all->threads + 1 < most; all->threads += !err)
		err = pthread_create(&all->thread[all->threads], NULL, run_thread,
				     &all->put[all->threads + 1]);
	return err ? xiw_fail(XIW_EXIT_FAILURE, "cannot start a thread: %s", strerror(err)) : 0;
}

static int run_with_engine(struct xiw_put *p)
{
	const int nfiles = p->args->nwords - 1;
	int i, code = connect_any(p);

	if (code || xiw_stop_signal)
		return code;
	if (p == p->all->put)
		p->code = start_others(p->all);
	while (p->state == XIW_PUT_READY && !xiw_stop_signal && (i = p->all->next++) < nfiles)
		put_file(p, p->args->words[i]);
	close_conn(p);
	xiw_conn_free(p->conn);
	return p->code;
}

static int run_with_worker(struct xiw_put *p)
{
	int code = xiw_worker_begin(&p->worker, p->engine);

	if (code)
		return code;
	code = run_with_engine(p);
	xiw_worker_stop(&p->worker);
	return code;
}

/* One connection, with an engine and a worker of its own. */
static int run_one(struct xiw_put *p)
{
	int code;

	p->reader.ring = malloc(XIW_PUT_RING);
	if (!p->reader.ring)
		return xiw_fail(XIW_EXIT_FAILURE, "no memory");
	code = xiw_endpoint_open(p->args, XIW_USE_KERNEL, &p->engine);
	if (!code)
		code = run_with_worker(p);
	xiw_engine_destroy(p->engine);
	free(p->reader.ring);
	return code;
}

/* Before anything is sent: may all files be read? */
static int check_files(const struct xiw_args *args)
{
	char shown[256];
	struct stat st;

	for (int i = 0; i < args->nwords - 1; i++) {
		const char *name = args->words[i];

		if (faccessat(AT_FDCWD, name, R_OK, AT_EACCESS) || stat(name, &st))
			return xiw_fail(XIW_EXIT_FAILURE, "cannot read %s: %s",
					xiw_printable(name, shown, sizeof(shown)), strerror(errno));
		if (!S_ISREG(st.st_mode))
			return xiw_fail(XIW_EXIT_FAILURE, "%s is not a regular file",
					xiw_printable(name, shown, sizeof(shown)));
	}
	return 0;
}

static int run_all(const struct xiw_args *args)
{
	const char *target = args->words[args->nwords - 1];
	struct xiw_puts all = {};
	int code = xiw_resolve(target, false, &all.addresses);

	if (code)
		return code;
	for (int i = 0; i < XIW_PUT_CONNECTIONS_MAX; i++)
		all.put[i] = (struct xiw_put){
			.args = args, .target = target, .all = &all, .reader.fd = -1
		};
	code = run_one(&all.put[0]);
	for (int i = 0; i < all.threads; i++) {
		pthread_join(all.thread[i], NULL);
		code = code ? code : all.put[i + 1].code;
	}
	freeaddrinfo(all.addresses);
	return code;
}

static int run_put(const struct xiw_args *args)
{
	int code;

	xiw_catch_signals();
	code = xiw_caps_drop(args->cmd->name, false, XIW_CAPS_READ, NULL);
	if (!code)
		code = check_files(args);
	if (!code)
		code = xiw_exit_stopped(run_all(args));
	if (xiw_line_open)
		fputc('\n', stderr);
	return code;
}

static const struct xiw_opt put_opts[] = {
	{ "connections", .arg = "N",
	  .help = "send up to N files at once, each on a connection of its own; default 1",
	  XIW_NUMBER(put.connections, 1, XIW_PUT_CONNECTIONS_MAX) },
	{ "sha256",
	  .help = "have both ends compare, and report, the SHA-256 of each file, instead of a "
		  "digest that takes less time",
	  XIW_FLAG(put.sha256) },
	XIW_OPT_PEER_TIMEOUT,
	{},
};

const struct xiw_cmd xiw_cmd_put = {
	.name = "put",
	.synopsis = "FILE... HOST[:PORT]",
	.summary = "send files to a host that runs 'xiwarp serve'",
	.text = "Sends each FILE under its own name, in order, over one connection unless "
		"--connections has it use several, and has the far end check its digest: a GMAC "
		"under a random key, which takes less time than SHA-256 and misses damage no more "
		"often. A file that changes meanwhile arrives as it was read. HOST is a name or an "
		"address; an IPv6 address with a port is "
		"written [ADDRESS]:PORT. The default port is " XIW_PORT
		". On a terminal it shows progress, rate and the time left. The time that it "
		"reports ends when the far end has checked the file. It needs no privilege and no "
		"XDP: the sender is ordinary TCP.",
	.examples = "xiwarp put big.iso receiver.example\n"
		    "xiwarp put --sha256 --json big.iso receiver.example\n"
		    "xiwarp put --connections 4 *.dat receiver.example\n"
		    "xiwarp put a.dat b.dat [2001:db8::7]:" XIW_PORT "\n",
	.opts = put_opts,
	.min_words = 2,
	.max_words = -1,
	.run = run_put,
};
