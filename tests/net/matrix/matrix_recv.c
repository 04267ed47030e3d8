// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * matrix_recv - the library's end of a cell of the fault matrix: takes one connection, checks every octet and that
 * each message is delivered once and in order, sends a quarter as much back, and checks afterwards that the library
 * has returned everything that it had borrowed.
 *
 *   matrix_recv [-b MiB] [-s SEED] [-m] [-k|-d]    markers; kernel path only, or direct path only
 *
 * Prints one line of JSON. Exit code 0 if the connection came to an orderly end, whatever the counts are.
 */
#include <getopt.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/net/matrix/matrix.h"
#include "tests/net/lib/borrowed.h"
#include "tests/net/lib/json.h"

#define POSTED 256u /* for the same reason */
#define POISON 0xee
#define LINGER_MS 15000 /* the socket's last states take their time */

static struct {
	uint64_t octets, seed;
	bool markers;
	enum xiw_use_path path;
} opt = { .octets = 16u << 20, .seed = 1 };

static struct {
	uint64_t octets, delivered, wrong, lost, repeated, misordered, stray;
	uint64_t back; /* octets given to the library and reported sent */
	double first, last, gap;
} got;

static uint8_t *slots, *posted;
static uint64_t total, next_msg;
static uint8_t *seen; /* deliveries, by message */
static uint64_t back_sent, back_done;
static bool eof;
static uint8_t back_buf[16][MATRIX_BACK_MSG];

/* A quarter of what came, so that the stream under test does not starve. */
static void send_back(struct xiw_conn *c)
{
	while (back_sent - back_done < 16 && back_sent * MATRIX_BACK_MSG <= got.octets / 4) {
		uint8_t *buf = back_buf[back_sent % 16];
		struct xiw_message m = {
			.buf = buf,
			.len = MATRIX_BACK_MSG,
			.tagged = true,
			.stag = MATRIX_STAG,
			.to = back_sent * MATRIX_BACK_MSG,
		};

		stream_octets(matrix_stream(opt.seed ^ MATRIX_BACK_SALT, back_sent), 0, buf,
			      MATRIX_BACK_MSG);
		if (xiw_conn_send(c, &m))
			return;
		back_sent++;
	}
}

/* The sender has ended: sends back the rest of the quarter. */
static void end_back(struct xiw_conn *c)
{
	send_back(c);
	if (back_done == back_sent)
		xiw_conn_close(c);
}

/* Message `msg` was delivered, with these octets. */
static void delivered(uint64_t msg, uint8_t *at, uint64_t len)
{
	double t = now_s();

	if (got.last && t - got.last > got.gap)
		got.gap = t - got.last;
	got.last = t;
	got.delivered++;
	if (msg >= total) {
		got.wrong += len;
		return;
	}
	if (seen[msg]++) {
		got.repeated++;
	} else {
		got.misordered += msg != next_msg;
		got.octets += len;
	}
	next_msg = msg + 1;
	if (len != matrix_len(opt.seed, msg))
		got.wrong += len ? len : 1;
	else
		got.wrong += matrix_wrong(opt.seed, msg, at, 0, len);
	/* Octets that are delivered or placed twice must overwrite something. */
	memset(at, POISON, len);
}

static void on_written(const struct xiw_completion *c)
{
	uint64_t slot = c->to / MATRIX_MSG_MAX, msg;

	if (c->stag != MATRIX_STAG || c->to % MATRIX_MSG_MAX || slot >= MATRIX_SLOTS ||
	    c->length > MATRIX_MSG_MAX) {
		got.wrong += c->length ? c->length : 1;
		return;
	}
	/* Of the messages with this place, the one nearest to the expected one. */
	msg = next_msg + (slot - next_msg) % MATRIX_SLOTS;
	if (msg - next_msg > MATRIX_SLOTS / 2 && msg >= MATRIX_SLOTS)
		msg -= MATRIX_SLOTS;
	delivered(msg, slots + c->to, c->length);
}

static void post(struct xiw_conn *c, uint64_t i)
{
	uint8_t *buf = posted + i * MATRIX_MSG_MAX;
	int err;

	memset(buf, POISON, MATRIX_MSG_MAX);
	err = xiw_conn_post_recv(c, 0, buf, MATRIX_MSG_MAX, i);

	/* The stream may have ended, and its end may be in the queue behind this completion. */
	if (err && err != -ESHUTDOWN)
		die("a buffer could not be posted");
}

static void on_received(const struct xiw_completion *c)
{
	if (c->qn || c->user_data >= POSTED) {
		got.wrong++;
		return;
	}
	delivered((uint64_t)(c->msn - 1) * 4 + 3, posted + c->user_data * MATRIX_MSG_MAX,
		  c->length);
	post(c->conn, c->user_data);
}

/* Runs until the connection has ended. */
static int serve(struct xiw_engine *e, struct xiw_conn_info *info)
{
	struct xiw_completion c;
	int err;

	for (;;) {
		err = xiw_engine_run(e, 1000);
		if (err < 0)
			die("engine: %s", strerror(-err));
		while (xiw_engine_next(e, &c)) {
			switch (c.event) {
			case XIW_EV_REQUEST:
				for (uint64_t i = 0; i < POSTED; i++)
					post(c.conn, i);
				xiw_conn_accept(c.conn, NULL, 0);
				break;
			case XIW_EV_CONNECTED:
				got.first = now_s();
				break;
			case XIW_EV_SENT:
				back_done++;
				got.back += MATRIX_BACK_MSG;
				break;
			case XIW_EV_WRITTEN:
				on_written(&c);
				break;
			case XIW_EV_RECEIVED:
				on_received(&c);
				break;
			case XIW_EV_ERROR:
				xiw_conn_abort(c.conn);
				continue;
			case XIW_EV_EOF:
				eof = true;
				break;
			case XIW_EV_CLOSED:
				xiw_conn_info(c.conn, info, sizeof(*info));
				xiw_conn_free(c.conn);
				return c.status;
			default:
				break;
			}
			if (eof && (c.event == XIW_EV_EOF || c.event == XIW_EV_SENT))
				end_back(c.conn);
			else if (c.event == XIW_EV_CONNECTED || c.event == XIW_EV_SENT ||
				 c.event == XIW_EV_WRITTEN || c.event == XIW_EV_RECEIVED)
				send_back(c.conn);
		}
	}
}

/* ---- what is left behind ------------------------------------------------------------------------- */

struct leaks {
	int64_t frames, tx_frames, kept, bufs, conns, slots, fds, memory;
};

static int64_t heap(void)
{
	struct mallinfo2 m = mallinfo2();

	return (int64_t)(m.uordblks + m.hblkhd);
}

static int64_t tx_frames_out(const struct xiw_engine *e)
{
	int64_t count = 0;

	for (struct xiw_netif *p = e->netifs; p; p = p->next) {
		for (uint32_t i = 0; i < p->nqueues; i++) {
			struct xiw_xsk *x = &p->queues[i].xsk;

			count += (int64_t)XIW_XSK_TX_FRAMES - x->ntx_free -
				 xsk_cons_nb_avail(&x->comp, XIW_XSK_TX_FRAMES);
		}
	}
	return count;
}

static void count_engine(struct xiw_engine *e, struct leaks *l)
{
	/* Outstanding completions of io_uring for the connection. */
	for (int i = 0; i < 100 && e->conns; i++)
		xiw_engine_run(e, 10);
	/* And so that the kernel has sent what it was told to. */
	for (int i = 0; i < 3; i++)
		xiw_engine_run(e, 1);
	for (struct xiw_conn *c = e->conns; c; c = c->next)
		l->conns++;
	l->frames = frames_out(e);
	l->tx_frames = tx_frames_out(e);
	l->kept = kept_out(e);
	l->bufs = e->io.bufs_out;
}

/* Slots of the flow table, when the sockets have had the time to end. */
static void count_slots(const char *ifname, struct leaks *l)
{
	struct xiw_table t = { .flows_fd = -1, .index_fd = -1, .queues_fd = -1, .xsks_fd = -1 };
	char dir[256];

	snprintf(dir, sizeof(dir), "%s/%s", XIW_PIN_DIR, ifname);
	if (!ifname[0] || xiw_table_open(&t, dir))
		return;
	for (int ms = 0; ms < LINGER_MS; ms += 20) {
		xiw_table_collect(&t);
		l->slots = (int64_t)slots_used(&t);
		if (!l->slots)
			break;
		usleep(20000);
	}
	xiw_table_close(&t);
}

static void report(const struct xiw_conn_info *i, int status, const struct leaks *l)
{
	struct json_object *o = json_object_new_object();

	for (uint64_t n = 0; n < total; n++)
		got.lost += !seen[n];
	add(o, "octets", got.octets);
	add(o, "octets_back", got.back);
	add(o, "messages", got.delivered);
	add(o, "wrong", got.wrong);
	add(o, "lost", got.lost);
	add(o, "repeated", got.repeated);
	add(o, "misordered", got.misordered);
	add(o, "stray", got.stray);
	add(o, "octets_direct", i->octets_direct);
	add(o, "octets_kernel", i->octets_kernel);
	add(o, "went_direct", i->went_direct);
	add(o, "went_kernel", i->went_kernel);
	add(o, "injected", i->injected);
	add(o, "crc_errors", i->crc_errors);
	add(o, "early", i->fpdus_early);
	add(o, "mpa_error", i->mpa_error);
	add(o, "status", (uint64_t)status);
	add(o, "ms", (uint64_t)((got.last - got.first) * 1000));
	add(o, "gap_ms", (uint64_t)(got.gap * 1000));
	add_reasons(o, i);
	add(o, "leaked_frames", (uint64_t)l->frames);
	add(o, "leaked_tx_frames", (uint64_t)l->tx_frames);
	add(o, "leaked_kept", (uint64_t)l->kept);
	add(o, "leaked_buffers", (uint64_t)l->bufs);
	add(o, "leaked_connections", (uint64_t)l->conns);
	add(o, "leaked_slots", (uint64_t)l->slots);
	add(o, "leaked_fds", (uint64_t)l->fds);
	add(o, "leaked_octets", (uint64_t)l->memory);
	json_object_object_add(o, "no_direct", json_object_new_string(i->no_direct));
	print_json(o);
}

/*
 * One life of an engine. In the first one nobody connects: afterwards libraries have allocated what they keep for
 * good.
 */
static int life(bool warm_up, struct xiw_conn_info *info, struct leaks *l, char ifname[IF_NAMESIZE])
{
	struct xiw_engine_opts eo = { .size = sizeof(eo), .app_ring_fd = -1, .path = opt.path };
	struct xiw_conn_opts co = {
		.size = sizeof(co),
		.markers = opt.markers,
		.send_depth = 16,
		.recv_depth = POSTED,
	};
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(MATRIX_PORT) };
	uint32_t stag = MATRIX_STAG;
	struct xiw_region_opts ro = { .size = sizeof(ro), .stag = &stag };
	struct xiw_engine *e;
	struct xiw_listener *lst;
	struct xiw_region *r;
	int err, status = 0;

	any.sin6_port = htons(warm_up ? MATRIX_PORT + 1 : MATRIX_PORT);
	if ((err = xiw_engine_create(&eo, &e)) ||
	    (err = xiw_region_register(e, slots, MATRIX_MSG_MAX * MATRIX_SLOTS, &ro, &r)) ||
	    (err = xiw_listen(e, (struct sockaddr *)&any, sizeof(any), &co, &lst)))
		die("%s", strerror(-err));
	if (!warm_up) {
		status = serve(e, info);
		if (e->netifs)
			memcpy(ifname, e->netifs->ifname, IF_NAMESIZE);
		count_engine(e, l);
	}
	xiw_region_free(r);
	xiw_engine_destroy(e);
	return status;
}

int main(int argc, char **argv)
{
	char ifname[IF_NAMESIZE] = "";
	struct xiw_conn_info info = {};
	struct leaks l = {};
	int o, status;

	while ((o = getopt(argc, argv, "b:s:mkd")) != -1) {
		switch (o) {
		case 'b':
			opt.octets = strtoull(optarg, NULL, 0) << 20;
			break;
		case 's':
			opt.seed = strtoull(optarg, NULL, 0);
			break;
		case 'm':
			opt.markers = true;
			break;
		case 'k':
			opt.path = XIW_USE_KERNEL;
			break;
		case 'd':
			opt.path = XIW_USE_DIRECT;
			break;
		default:
			die("usage: matrix_recv [-b MiB] [-s SEED] [-m] [-k|-d]");
		}
	}
	total = matrix_count(opt.seed, opt.octets);
	seen = calloc(total, 1);
	slots = mmap(NULL, MATRIX_MSG_MAX * MATRIX_SLOTS, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	posted = mmap(NULL, MATRIX_MSG_MAX * POSTED, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!seen || slots == MAP_FAILED || posted == MAP_FAILED)
		die("no memory");
	memset(slots, POISON, MATRIX_MSG_MAX * MATRIX_SLOTS);
	life(true, &info, &l, ifname);
	l.fds = -(int64_t)open_fds();
	l.memory = -heap();
	status = life(false, &info, &l, ifname);
	l.fds += (int64_t)open_fds();
	l.memory += heap();
	count_slots(ifname, &l);
	/* If everything was delivered, nothing may have been written since. */
	if (got.delivered == total)
		for (size_t i = 0; i < MATRIX_MSG_MAX * MATRIX_SLOTS; i++)
			got.stray += slots[i] != POISON;
	report(&info, status, &l);
	free(seen);
	return status || info.mpa_error ? 1 : 0;
}
