// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * soak_recv - many connections on one engine. Each is checked against its plan (soak.h), octet by octet, and the
 * process is watched meanwhile: memory, file descriptors, flow slots, frames.
 *
 *   soak_recv -n CONNECTIONS [-i IFNAME] [-w WARM_UP_SECONDS] [-g MIB]
 *
 * SIGUSR1: the peer has ended; gives up connections whose reset was lost. SIGTERM: ends when nothing is left. The last
 * line is a report in JSON; exit code 1 if anything was wrong.
 */
#include "tests/net/soak/soak_recv.h"

#include <getopt.h>
#include <malloc.h>
#include <sys/mman.h>

#define DEPTH 64u
#define CLEAR_MS 90000 /* TIME-WAIT and the collection of slots after it */
#define POISON 0xee

struct recv_opt recv_opt = { .conns = 100, .warm_up = 60, .grow_mib = 16, .stuck_ms = 60000 };
struct recv_sum recv_sum;
struct conn *recv_conns;
struct xiw_engine *recv_engine;
struct xiw_table recv_table = { .flows_fd = -1, .index_fd = -1 };
volatile sig_atomic_t hurry;

static struct conn *recv_free;
static volatile sig_atomic_t ending;

/* ---- a connection -------------------------------------------------------------------------------- */

static void make_conns(void)
{
	/* Some more than the peer has, because a connection whose reset was lost lasts longer here. */
	unsigned int count = recv_opt.conns + recv_opt.conns / 4 + 64;
	size_t each = SOAK_TAGGED + SOAK_UNTAGGED;
	uint8_t *area = mmap(NULL, count * each, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	recv_conns = calloc(count, sizeof(*recv_conns));
	if (area == MAP_FAILED || !recv_conns)
		die("no memory");
	while (count--) {
		recv_conns[count].tagged = area + count * each;
		recv_conns[count].untagged = recv_conns[count].tagged + SOAK_TAGGED;
		recv_conns[count].next_free = recv_free;
		recv_free = &recv_conns[count];
	}
}

/* All buffers up to the next sync. */
static void post(struct conn *c)
{
	struct soak_msg m;

	while (soak_plan_next(&c->posts, &m)) {
		if (!m.tagged) {
			int err = xiw_conn_post_recv(c->xc, 0, c->untagged + m.at, m.len, m.off);

			/* The connection may have ended behind the messages in the queue. */
			if (err && (err != -ESHUTDOWN || !soak_stops_early(c->plan.kind)))
				recv_wrong(c, "post: %s", strerror(-err));
		}
		if (m.sync)
			break;
	}
}

static void on_request(struct xiw_conn *xc)
{
	struct xiw_region_opts ro = { .size = sizeof(ro), .conn = xc };
	uint64_t asked[2];
	uint32_t stag;
	size_t len;
	const void *pd = xiw_conn_private_data(xc, &len);
	struct conn *c = recv_free;

	if (len != sizeof(asked) || !c) {
		recv_wrong(NULL, c ? "%zu octets of Private Data" : "no room for a connection",
			   len);
		xiw_conn_free(xc);
		return;
	}
	memcpy(asked, pd, sizeof(asked));
	if (asked[0] != SOAK_MAGIC)
		recv_wrong(NULL, "Private Data");
	recv_free = c->next_free;
	*c = (struct conn){
		.xc = xc,
		.tagged = c->tagged,
		.untagged = c->untagged,
		.live = true,
		.last_ms = now_ms(),
	};
	recv_sum.opened++;
	if (++recv_sum.live > recv_sum.most)
		recv_sum.most = recv_sum.live;
	soak_plan_init(&c->plan, asked[1]);
	c->posts = c->answers = c->plan;
	c->more = soak_plan_next(&c->plan, &c->want);
	xiw_conn_set_user_data(xc, (uintptr_t)c);
	if (c->plan.kind == SOAK_REJECT) {
		xiw_conn_reject(xc, &asked[1], sizeof(asked[1]));
		return;
	}
	if (xiw_region_register(recv_engine, c->tagged, SOAK_TAGGED, &ro, &c->region))
		die("region");
	post(c);
	stag = xiw_region_stag(c->region);
	xiw_conn_accept(xc, &stag, sizeof(stag));
}

static bool is_poison(const uint8_t *p, uint64_t len)
{
	return !len || (p[0] == POISON && !memcmp(p, p + 1, len - 1));
}

/* Delivered memory is the application's: nothing may write there any more. */
static void check_clean(struct conn *c)
{
	if (!is_poison(c->tagged, c->clean_tagged) || !is_poison(c->untagged, c->clean_untagged))
		recv_wrong(c, "a buffer was written to after its message was delivered");
	c->clean_tagged = c->clean_untagged = 0;
}

static int send_back(struct conn *c, uint32_t len)
{
	uint8_t *buf = malloc(len);
	struct xiw_message m = {
		.buf = buf,
		.len = len,
		.tagged = len % 2,
		.stag = SOAK_BACK_STAG,
		.to = c->back_off,
		.user_data = (uintptr_t)buf,
	};
	int err;

	if (!buf)
		die("no memory");
	stream_octets(soak_stream(c->plan.id, SOAK_BACK), c->back_off, buf, len);
	err = xiw_conn_send(c->xc, &m);
	if (err) {
		free(buf);
		return err;
	}
	c->back_off += len;
	recv_sum.answers++;
	return 0;
}

/* Answers delivered messages, as far as there is room; then ends as planned. */
static void answer(struct conn *c)
{
	unsigned int delivered = c->plan.n - c->more;
	struct soak_plan ahead;
	struct soak_msg m;
	int err = 0;

	if (c->closing || c->error || !c->plan.back)
		delivered = 0;
	while (c->answers.n < delivered) {
		ahead = c->answers;
		if (!soak_plan_next(&ahead, &m))
			break;
		if (m.back && (err = send_back(c, m.back)))
			break;
		c->answers = ahead;
	}
	while (!err && c->eof && c->plan.kind == SOAK_HALF && c->extra < SOAK_HALF_EXTRA) {
		err = send_back(c, 8192);
		c->extra += !err;
	}
	if (err && err != -EAGAIN && err != -EPIPE)
		recv_wrong(c, "send: %s", strerror(-err));
	if (err || c->closing)
		return;
	if (c->eof || (c->plan.kind == SOAK_RCLOSE && !c->more)) {
		c->closing = true;
		xiw_conn_close(c->xc);
	} else if (c->plan.kind == SOAK_RABORT && (!c->more || c->plan.n - 1 >= c->plan.stop)) {
		c->closing = true;
		xiw_conn_abort(c->xc);
	}
}

static void on_message(struct conn *c, const struct xiw_completion *d, bool tagged)
{
	const struct soak_msg *m = &c->want;
	uint8_t *got = (tagged ? c->tagged : c->untagged) + m->at;
	int64_t at;

	if (!c->more) {
		recv_wrong(c, "a message too many");
		return;
	}
	/* The message during which the reset came may be complete. */
	if (c->plan.kind >= SOAK_TRUNCATED && c->plan.n - 1 >= c->plan.stop)
		recv_wrong(c, "a message behind the end");
	if (c->plan.kind == SOAK_ABORT && c->plan.n - 1 > c->plan.stop)
		recv_wrong(c, "a message behind the reset");
	if (tagged != m->tagged || d->length != m->len ||
	    (tagged ? d->to != m->at : d->user_data != m->off)) {
		recv_wrong(c, "%s message of %llu octets at %llu, not %s of %u at %llu",
			   tagged ? "tagged" : "untagged", (unsigned long long)d->length,
			   (unsigned long long)(tagged ? d->to : d->user_data),
			   m->tagged ? "tagged" : "untagged", m->len,
			   (unsigned long long)(tagged ? m->at : m->off));
		return;
	}
	at = stream_wrong(soak_stream(c->plan.id, SOAK_FORWARD), m->off, got, m->len);
	if (at >= 0)
		recv_wrong(c, "wrong octet at %lld of %u", (long long)at, m->len);
	memset(got, POISON, m->len);
	*(tagged ? &c->clean_tagged : &c->clean_untagged) += m->len;
	recv_sum.messages++;
	recv_sum.octets += m->len;
	if (m->sync) {
		check_clean(c);
		if (!c->closing)
			post(c);
	}
	c->more = soak_plan_next(&c->plan, &c->want);
	answer(c);
}

static void on_error(struct conn *c)
{
	c->error = true;
	if (c->plan.id % 2) {
		c->closing = true;
		xiw_conn_close(c->xc);
	} else {
		xiw_conn_abort(c->xc);
	}
}

/* What the end must look like: the errors of RFC 5044 section 8 and RFC 5041 section 7.2. */
static void check_end(struct conn *c, const struct xiw_conn_info *i, int status)
{
	static const struct {
		int status;
		enum xiw_mpa_error mpa;
		enum xiw_ddp_error ddp;
	} ends[SOAK_KINDS] = {
		[SOAK_ABORT] = { -ECONNRESET, XIW_MPA_ERR_CLOSED, 0 },
		[SOAK_RABORT] = { -ECONNABORTED, 0, 0 },
		[SOAK_REJECT] = { -ECONNREFUSED, 0, 0 },
		[SOAK_TRUNCATED] = { -ECONNRESET, XIW_MPA_ERR_CLOSED, 0 },
		[SOAK_BAD_CRC] = { -EPROTO, XIW_MPA_ERR_CRC, 0 },
		[SOAK_BAD_LENGTH] = { -EPROTO, XIW_MPA_ERR_MARKER, 0 },
		[SOAK_BAD_STAG] = { -EPROTO, 0, XIW_DDP_TAGGED_STAG },
		[SOAK_BAD_BOUNDS] = { -EPROTO, 0, XIW_DDP_TAGGED_BOUNDS },
		[SOAK_BAD_QN] = { -EPROTO, 0, XIW_DDP_UNTAGGED_QN },
		[SOAK_NO_BUFFER] = { -EPROTO, 0, XIW_DDP_UNTAGGED_NO_BUFFER },
		[SOAK_BAD_VERSION] = { -EPROTO, 0, XIW_DDP_TAGGED_VERSION },
	};
	enum soak_kind k = c->plan.kind;

	if (c->over)
		return;
	/* Our own send may meet the reset. */
	if (k == SOAK_ABORT && status == -EPIPE)
		status = -ECONNRESET;
	if (status != ends[k].status || i->mpa_error != ends[k].mpa || i->ddp_error != ends[k].ddp)
		recv_wrong(c,
			   "ended with %s, MPA error %d, DDP error %#x; path %d, stream %llu+%llu",
			   strerror(-status), i->mpa_error, i->ddp_error, i->path,
			   (unsigned long long)i->stream_direct,
			   (unsigned long long)i->stream_kernel);
	if (!soak_stops_early(k) && k != SOAK_REJECT && c->more)
		recv_wrong(c, "ended with messages missing");
}

static void account(const struct xiw_conn_info *i)
{
	recv_sum.direct += i->octets_direct;
	recv_sum.kernel += i->octets_kernel;
	recv_sum.early += i->fpdus_early;
	recv_sum.went_direct += i->went_direct;
	recv_sum.went_kernel += i->went_kernel;
	recv_sum.crc += i->crc_errors;
	/* The engine may not know yet that an earlier connection with the same addresses has ended. */
	if (strstr(i->no_direct, strerror(EBUSY)))
		recv_sum.taken++;
	else if (i->no_direct[0])
		recv_wrong(NULL, "no direct path: %s; stream %llu+%llu, %llu injected, %u direct",
			   i->no_direct, (unsigned long long)i->stream_direct,
			   (unsigned long long)i->stream_kernel, (unsigned long long)i->injected,
			   (unsigned int)i->went_direct);
	for (unsigned int w = 0; w < XIW_REASON__COUNT; w++)
		recv_sum.why[w] += i->reasons[w];
	for (unsigned int d = 0; d < XIW_TCP_DROP_MAX; d++)
		recv_sum.drops[d] += i->drops[d];
}

static void on_closed(struct conn *c, struct xiw_conn *xc, int status)
{
	struct xiw_conn_info i;

	xiw_conn_info(xc, &i, sizeof(i));
	account(&i);
	if (!c) {
		/* No Request came: another protocol, or nothing; or a reset as soon as connected. */
		if (status == -EPROTO && i.mpa_error == XIW_MPA_ERR_STARTUP)
			recv_sum.kinds[SOAK_NO_MPA]++;
		else if (status == -ECONNRESET && i.mpa_error == XIW_MPA_ERR_CLOSED)
			recv_sum.kinds[SOAK_NO_REQUEST]++;
		else
			recv_wrong(NULL, "startup ended with %s, MPA error %d", strerror(-status),
				   i.mpa_error);
		xiw_conn_free(xc);
		return;
	}
	check_end(c, &i, status);
	recv_sum.kinds[c->plan.kind]++;
	recv_sum.closed++;
	recv_sum.live--;
	xiw_region_free(c->region);
	xiw_conn_free(xc);
	check_clean(c);
	c->live = false;
	c->next_free = recv_free;
	recv_free = c;
}

static void handle(const struct xiw_completion *d)
{
	/* A message's completion carries user data of its own. */
	struct conn *c = (struct conn *)(uintptr_t)d->conn->opts.user_data;

	if (c)
		c->last_ms = now_ms();
	switch (d->event) {
	case XIW_EV_REQUEST:
		on_request(d->conn);
		break;
	case XIW_EV_CONNECTED:
		answer(c);
		break;
	case XIW_EV_WRITTEN:
		on_message(c, d, true);
		break;
	case XIW_EV_RECEIVED:
		on_message(c, d, false);
		break;
	case XIW_EV_SENT:
		free((void *)(uintptr_t)d->user_data);
		answer(c);
		break;
	case XIW_EV_FLUSHED:
		/* A posted buffer's number is below any address. */
		if (d->user_data > 1ull << 32)
			free((void *)(uintptr_t)d->user_data);
		break;
	case XIW_EV_ERROR:
		on_error(c);
		break;
	case XIW_EV_EOF:
		c->eof = true;
		answer(c);
		break;
	case XIW_EV_CLOSED:
		on_closed(c, d->conn, d->status);
		break;
	default:
		recv_wrong(c, "event %d", d->event);
	}
}
/* ---- the run ------------------------------------------------------------------------------------- */

static void turn(uint64_t start)
{
	static uint64_t next_watch, next_print;
	struct xiw_completion d;
	uint64_t now;
	int err = xiw_engine_run(recv_engine, 100);

	if (err < 0 && err != -EINTR)
		die("engine: %s", strerror(-err));
	while (xiw_engine_next(recv_engine, &d))
		handle(&d);
	now = now_ms();
	if (now < next_watch)
		return;
	next_watch = now + 500;
	look_for_stuck(now);
	watch_process(start, now, now >= next_print);
	if (now >= next_print)
		next_print = now + 5000;
}

static void serve_at(uint16_t port, bool markers)
{
	struct xiw_conn_opts co = { .size = sizeof(co), .markers = markers, .recv_depth = DEPTH };
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	struct xiw_listener *l;
	int err = xiw_listen(recv_engine, (struct sockaddr *)&any, sizeof(any), &co, &l);

	if (err)
		die("listen: %s", strerror(-err));
}

static void on_signal(int sig)
{
	hurry = 1;
	ending |= sig == SIGTERM;
}

static void parse(int argc, char **argv)
{
	int o;

	while ((o = getopt(argc, argv, "n:i:w:g:k:")) != -1) {
		switch (o) {
		case 'n':
			recv_opt.conns = (unsigned int)strtoul(optarg, NULL, 0);
			break;
		case 'i':
			recv_opt.ifname = optarg;
			break;
		case 'w':
			recv_opt.warm_up = (unsigned int)strtoul(optarg, NULL, 0);
			break;
		case 'g':
			recv_opt.grow_mib = strtoull(optarg, NULL, 0);
			break;
		case 'k':
			recv_opt.stuck_ms = strtoull(optarg, NULL, 0) * 1000;
			break;
		default:
			die("usage: soak_recv -n CONNECTIONS [-i IFNAME] [-w SECONDS] [-g MIB] "
			    "[-k SECONDS]");
		}
	}
}

int main(int argc, char **argv)
{
	struct xiw_engine_opts eo = { .size = sizeof(eo), .app_ring_fd = -1 };
	struct sigaction sa = { .sa_handler = on_signal };
	uint64_t start, clear, heap, heap_end, fds;
	int err;

	parse(argc, argv);
	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	make_conns();
	fds = open_fds();
	heap = mallinfo2().uordblks;
	err = xiw_engine_create(&eo, &recv_engine);
	if (err)
		die("engine: %s", strerror(-err));
	serve_at(SOAK_PORT, false);
	serve_at(SOAK_PORT + 1, true);
	start = now_ms();
	while (!ending)
		turn(start);
	clear = now_ms() + CLEAR_MS;
	while ((recv_engine->conns || slots_in_use()) && now_ms() < clear)
		turn(start);
	check_rest();
	xiw_engine_destroy(recv_engine);
	if (recv_table.flows_fd >= 0)
		xiw_table_close(&recv_table);
	heap_end = mallinfo2().uordblks;
	if (open_fds() != fds)
		recv_wrong(NULL, "%llu file descriptors, not %llu", (unsigned long long)open_fds(),
			   (unsigned long long)fds);
	recv_report((double)(now_ms() - start) / 1000, heap_end > heap ? heap_end - heap : 0);
	return recv_sum.wrong != 0;
}
