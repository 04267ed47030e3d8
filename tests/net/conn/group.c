// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * group - a group of engines, a thread for each, and a peer with one engine on the kernel path.
 *
 *   group recv ENGINES CONNS OCTETS              listens, and takes what comes
 *   group recv ENGINES CONNS OCTETS ADDR         the same as an Initiator
 *   group send ADDR CONNS OCTETS                 connects, and sends
 *   group send - CONNS OCTETS                    the same as a Responder
 *
 * Stream i writes OCTETS octets from TO i * OCTETS on, in messages of MSG octets; what it writes where is a function of
 * both alone, so the receiver checks every octet. The receiver ends when CONNS connections have ended, or by SIGTERM,
 * and prints a line of JSON with what the engines got. With the environment's LEAVE an engine of the group is destroyed
 * once so many streams are complete, and with FREE the region is freed then. With OLD the sender knows no Rev 2 of MPA,
 * which the receiver asks for, so each of the receiver's connections is made twice (RFC 6581 section 10).
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xiwarp/xiwarp.h>

#include "tests/net/lib/common.h"
#include "tests/net/lib/ended.h"
#include "tests/net/lib/json.h"
#include "tests/net/lib/loss.h"

#define STAG 0x51000002u
#define PORT 15077
#define MSG (64u << 10)
#define WAIT_MS 100
#define DEPTH 8u

static unsigned int nconns;
static uint64_t octets; /* of a stream */
static uint8_t *memory;

static struct xiw_conn_opts conn_opts = { .size = sizeof(conn_opts),
					  .send_depth = DEPTH,
					  .startup_timeout_ms = 60000 };

static socklen_t peer_address(const char *host, struct sockaddr_storage *addr)
{
	socklen_t len = address_of(host, PORT, addr);

	if (!len)
		die("%s is no address", host);
	return len;
}

/* ---- the group ---------------------------------------------------------------------------------------- */

static struct worker {
	struct xiw_engine *engine;
	pthread_t thread;
	unsigned int arrived, connections;
	unsigned int astray; /* connections with segments on other engines' queues */
	unsigned int behind; /* connections that were not direct for the most part */
	unsigned int stalled; /* connections that XDP took back as their engine did not run, or for lost frames */
	uint64_t direct, kernel, lost;
	uint32_t why[XIW_REASON__COUNT];
	bool leave;
} workers[XIW_GROUP_ENGINES_MAX];

static atomic_uint closed, broken, complete;
static unsigned int leave_after; /* streams */
static bool frees;		 /* the region is to be freed */
static atomic_bool freed;	 /* the region's memory is the application's own again */
static volatile sig_atomic_t stopped;

static void stop(int signal)
{
	(void)signal;
	stopped = 1;
}

static void written(const struct xiw_completion *c)
{
	const uint64_t i = c->to / octets, off = c->to % octets;
	int64_t at;

	if (c->stag != STAG || i >= nconns || c->length > MSG || off + c->length > octets)
		die("a message with STag %#x, TO %llu, length %llu", c->stag,
		    (unsigned long long)c->to, (unsigned long long)c->length);
	at = stream_wrong(i, off, memory + c->to, c->length);
	if (at >= 0 && !freed)
		die("wrong octet %lld of stream %llu", (long long)at, (unsigned long long)i);
	if (off + c->length == octets)
		complete++;
	while (frees && complete > nconns / 2 && !freed) /* some are still under way then */
		usleep(1000);
}

static void ended(struct worker *w, const struct xiw_completion *c)
{
	struct xiw_conn_info info;
	uint64_t kernel;

	xiw_conn_info(c->conn, &info, sizeof(info));
	/* Without what the peer had sent before its Reply was read (OLD). */
	kernel = info.octets_kernel < info.surplus ? 0 : info.octets_kernel - info.surplus;
	w->connections++;
	w->direct += info.octets_direct;
	w->kernel += kernel;
	for (unsigned int r = 0; r < XIW_REASON__COUNT; r++)
		w->why[r] += info.reasons[r];
	w->lost = loss_of_rings(w->engine);
	w->stalled += info.reasons[XIW_REASON_WATCHDOG] || info.reasons[XIW_REASON_UNSEEN];
	w->astray += info.reasons[XIW_REASON_STEERED] || info.reasons[XIW_REASON_NO_XSK];
	w->behind += info.octets_direct < kernel;
	if (c->status)
		broken++;
	closed++;
	xiw_conn_free(c->conn);
}

static void take(struct worker *w, const struct xiw_completion *c)
{
	switch (c->event) {
	case XIW_EV_ARRIVED:
	case XIW_EV_REQUEST:
		w->arrived++;
		if (xiw_conn_accept(c->conn, NULL, 0))
			die("a connection cannot be accepted");
		break;
	case XIW_EV_WRITTEN:
		written(c);
		break;
	case XIW_EV_CLOSED:
		ended(w, c);
		break;
	default:
		follow_end(c);
		break;
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct xiw_completion c;

	while (closed < nconns && !stopped) {
		int err = xiw_engine_run(w->engine, WAIT_MS);

		if (err < 0 && err != -EINTR)
			die("run: %s", strerror(-err));
		while (xiw_engine_next(w->engine, &c))
			take(w, &c);
		if (w->leave && complete >= leave_after) {
			if (xiw_engine_destroy(w->engine))
				die("the engine cannot be destroyed");
			break;
		}
	}
	return NULL;
}

static void report(unsigned int engines)
{
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();
	uint64_t direct = 0, kernel = 0, lost = 0;
	unsigned int astray = 0, stalled = 0, idle = 0;

	for (unsigned int i = 0; i < engines; i++) {
		const struct worker *w = &workers[i];
		struct json_object *one = json_object_new_object();

		direct += w->direct;
		kernel += w->kernel;
		lost += w->lost;
		/* While an engine did not run, connections that were not direct yet went on without it. */
		astray += w->astray + (w->stalled ? 0 : w->behind);
		stalled += w->stalled;
		idle += !w->arrived;
		add(one, "arrived", w->arrived);
		add(one, "direct", w->direct);
		add(one, "kernel", w->kernel);
		for (unsigned int r = 0; r < XIW_REASON__COUNT; r++)
			if (w->why[r])
				add(one, xiw_reason_name(r), w->why[r]);
		json_object_array_add(list, one);
	}
	/* First, as what the script reads is the last number of a name: that of all engines. */
	json_object_object_add(o, "engines", list);
	add(o, "complete", complete);
	add(o, "broken", broken);
	add(o, "direct", direct);
	add(o, "kernel", kernel);
	add(o, "lost", lost);
	add(o, "astray", astray);
	add(o, "stalled", stalled);
	add(o, "idle", idle);
	print_json(o);
}

static struct xiw_group *make_group(unsigned int engines, struct xiw_group_region **region)
{
	const uint32_t stag = STAG;
	struct xiw_region_opts ro = { .size = sizeof(ro), .stag = &stag };
	struct xiw_group_opts go = { .size = sizeof(go), .engines = engines };
	struct xiw_group *g;
	char why[256] = "";
	int err;

	memory = mmap(NULL, nconns * octets, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		die_errno("mmap");
	err = xiw_group_create(&go, &g);
	if (!err)
		err = xiw_group_prepare(g, NULL, why, sizeof(why));
	if (!err)
		err = xiw_group_region_register(g, memory, nconns * octets, &ro, region);
	if (err)
		die("group: %s: %s", strerror(-err), why);
	return g;
}

static void open_all(struct xiw_group *g, const char *to)
{
	struct sockaddr_storage addr = {};
	struct xiw_group_listener *l;
	socklen_t len = to ? peer_address(to, &addr) : peer_address("0.0.0.0", &addr);
	int err = 0;

	/* The Responder may send once it knows that the Initiator is ready. */
	conn_opts.rtr = to && !conn_opts.fall_back ? XIW_RTR_WRITE : 0;
	if (!to)
		err = xiw_group_listen(g, (struct sockaddr *)&addr, len, &conn_opts, &l);
	for (unsigned int i = 0; to && i < nconns && !err; i++)
		err = xiw_group_connect(g, (struct sockaddr *)&addr, len, &conn_opts);
	if (err)
		die("%s: %s", to ? to : "listen", strerror(-err));
}

/* Takes the memory back while all engines place octets in it. Nobody else writes there from then on. */
static uint64_t take_back(struct xiw_group_region *region, unsigned int after)
{
	const size_t len = nconns * octets;
	uint64_t n = 0;

	while (complete < after && !stopped)
		usleep(100);
	freed = true;
	xiw_group_region_free(region);
	memset(memory, 0xee, len);
	while (closed < nconns && !stopped)
		usleep(1000);
	for (size_t i = 0; i < len; i++)
		n += memory[i] != 0xee;
	return n;
}

static void receive(unsigned int engines, const char *to)
{
	struct xiw_group_region *region;
	struct xiw_group *g = make_group(engines, &region);
	const char *leave = getenv("LEAVE"), *take = getenv("FREE");
	uint64_t overwritten;

	signal(SIGTERM, stop);
	engines = xiw_group_engines(g);
	frees = take;
	open_all(g, to);
	leave_after = leave ? (unsigned int)atoi(leave) : 0;
	workers[0].leave = leave_after;
	for (unsigned int i = 0; i < engines; i++) {
		workers[i].engine = xiw_group_engine(g, i);
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			die("no thread");
	}
	overwritten = take ? take_back(region, (unsigned int)atoi(take)) : 0;
	if (overwritten)
		die("%llu octets were placed after the end", (unsigned long long)overwritten);
	for (unsigned int i = 0; i < engines; i++)
		pthread_join(workers[i].thread, NULL);
	if (xiw_group_destroy(g))
		die("the group cannot be destroyed");
	report(engines);
}

/* ---- the peer ------------------------------------------------------------------------------------------ */

struct stream {
	struct xiw_conn *conn;
	uint64_t i, sent;
	bool closed;
};

static struct stream *streams;
static uint8_t *source; /* all streams, one after the other */
static unsigned int begun, over, cut;

static void send_more(struct stream *s)
{
	while (s->sent < octets) {
		struct xiw_message m = {
			.buf = source + s->i * octets + s->sent,
			.len = octets - s->sent < MSG ? octets - s->sent : MSG,
			.tagged = true,
			.stag = STAG,
			.to = s->i * octets + s->sent,
			.user_data = (uintptr_t)s,
		};

		if (xiw_conn_send(s->conn, &m))
			return;
		s->sent += m.len;
	}
	if (!s->closed)
		xiw_conn_close(s->conn);
	s->closed = true;
}

static void begin(const struct xiw_completion *c)
{
	struct stream *s = &streams[begun];

	if (begun == nconns)
		die("one stream too many");
	s->conn = c->conn;
	s->i = begun++;
	stream_octets(s->i, 0, source + s->i * octets, octets);
	xiw_conn_set_user_data(c->conn, (uintptr_t)s);
	send_more(s);
}

static void peer_take(const struct xiw_completion *c)
{
	switch (c->event) {
	case XIW_EV_REQUEST:
		xiw_conn_accept(c->conn, NULL, 0);
		break;
	case XIW_EV_CONNECTED:
		begin(c);
		break;
	case XIW_EV_SENT:
		send_more((struct stream *)(uintptr_t)c->user_data);
		break;
	case XIW_EV_ERROR:
		xiw_conn_abort(c->conn);
		break;
	case XIW_EV_CLOSED:
		/* Those whose Request was of another revision have had no stream. */
		cut += xiw_conn_user_data(c->conn) && c->status;
		over += xiw_conn_user_data(c->conn) != 0;
		xiw_conn_free(c->conn);
		break;
	default:
		break;
	}
}

/* Ends when so many connections have come to their end. */
static void send_all(const char *to)
{
	struct xiw_engine_opts eo = { .size = sizeof(eo), .path = XIW_USE_KERNEL };
	struct sockaddr_storage addr = {};
	const bool responder = !strcmp(to, "-");
	struct xiw_listener *l;
	struct xiw_engine *e;
	struct xiw_completion c;
	struct json_object *o;
	struct xiw_conn *conn;
	socklen_t len = peer_address(responder ? "0.0.0.0" : to, &addr);
	int err = xiw_engine_create(&eo, &e);

	streams = calloc(nconns, sizeof(*streams));
	source = malloc(nconns * octets);
	if (!streams || !source)
		die("no memory");
	if (!err && responder)
		err = xiw_listen(e, (struct sockaddr *)&addr, len, &conn_opts, &l);
	for (unsigned int i = 0; !err && !responder && i < nconns; i++)
		err = xiw_connect(e, (struct sockaddr *)&addr, len, &conn_opts, &conn);
	while (over < nconns && err >= 0) {
		err = xiw_engine_run(e, WAIT_MS);
		while (xiw_engine_next(e, &c))
			peer_take(&c);
	}
	if (err < 0)
		die("%s", strerror(-err));
	xiw_engine_destroy(e);
	o = json_object_new_object();
	add(o, "over", over);
	add(o, "cut", cut);
	print_json(o);
}

int main(int argc, char **argv)
{
	const bool recv = argc > 1 && !strcmp(argv[1], "recv");

	if (argc < 5 || argc > 6)
		die("usage: see the source");
	if (getenv("OLD") && recv)
		conn_opts.enhanced = conn_opts.fall_back = true;
	else if (getenv("OLD"))
		conn_opts.revision = 1, conn_opts.send_first = true;
	nconns = (unsigned int)atoi(argv[3]);
	octets = strtoull(argv[4], NULL, 0);
	if (recv)
		receive((unsigned int)atoi(argv[2]), argv[5]);
	else
		send_all(argv[2]);
	return 0;
}
