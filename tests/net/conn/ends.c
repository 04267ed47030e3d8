// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * ends - every connection ends: each state of a connection with each act of a peer, as Initiator and as Responder, DDP
 * and RDMAP, all at once. XIW_EV_CLOSED comes once, as the last event, within the time that conn.h gives, and after
 * everything that had arrived is delivered.
 *
 *   ends kernel|direct IF HERE THERE THERE-TOO NAMESPACE VANISH [CELL]
 *
 * IF is the interface, HERE our address, THERE and THERE-TOO those of the peers, which have their sockets in NAMESPACE
 * (a path). The command VANISH takes THERE-TOO away. Prints PASS and FAIL lines.
 */
#include "tests/net/conn/ends.h"

/* Options of all connections. */
#define STARTUP_MS 4000u /* clearly later than ONCE */
#define CLOSE_MS 800u
#define KEEPALIVE_MS 1000u
#define USER_MS 1500u
#define SLACK_MS 2500u
#define WAIT_MS 2
/* An application closes after this time. A peer that is gone is detected earlier. */
#define IDLE_MS 3500u

#define SEND_LEN (1u << 20)
#define SENDS 8
#define LAST_LEN (1u << 20) /* a last streaming message that fills any window */
#define CELLS_MAX 256
#define PORT 21000

static struct cell cells[CELLS_MAX];
static unsigned int ncells;
static struct xiw_engine *engine;
static struct xiw_listener *listeners[CELLS_MAX];
static enum xiw_use_path path;
static uint8_t *memory, *source;

uint16_t cell_port(const struct cell *c)
{
	return (uint16_t)(PORT + (c - cells));
}

static unsigned int due_ms(enum bound b)
{
	static const unsigned int ms[] = {
		[ONCE] = 0,
		[STARTUP] = STARTUP_MS,
		[CLOSE] = CLOSE_MS * 5 / 4,
		[CLOSES] = 3 * (CLOSE_MS * 5 / 4),
		[USER] = USER_MS,
		[KEEP] = KEEPALIVE_MS + USER_MS,
		[APPLICATION] = IDLE_MS + CLOSE_MS * 5 / 4,
	};

	return ms[b];
}

/* ---- the application ------------------------------------------------------------------------------- */

static bool sends(const struct cell *c)
{
	return c->state == SENDING || c->state == CLOSING_ALL || c->state == FAILED_ALL;
}

static void app_close(struct cell *c)
{
	c->app_closed = true;
	if (c->rdma)
		xiw_rdma_close(c->rdma);
	else
		xiw_conn_close(c->conn);
}

static void app_send(struct cell *c, int n, uint32_t len)
{
	struct xiw_message m = { .buf = source, .len = len, .tagged = true, .stag = 7 };
	struct xiw_rdma_op op = { .kind = XIW_RDMA_WRITE, .buf = source, .len = len, .stag = 7 };

	while (n--)
		if (c->rdma ? xiw_rdma_post(c->rdma, &op) : xiw_conn_send(c->conn, &m))
			fprintf(stderr, "cell %d.%d cannot send\n", c->state, c->act);
}

static void app_read(struct cell *c)
{
	struct xiw_rdma_op op = { .kind = XIW_RDMA_READ, .len = 100, .stag = 7, .sink_stag = STAG };

	if (xiw_rdma_post(c->rdma, &op))
		fprintf(stderr, "cell %d.%d cannot read\n", c->state, c->act);
}

/* All Writes have come: the application does what the state demands. */
static void app_ready(struct cell *c)
{
	c->ready = true;
	if (sends(c))
		app_send(c, SENDS, SEND_LEN);
	if (c->state == READING)
		app_read(c);
	if (c->state == CLOSING || c->state == CLOSING_ALL || c->state == READING)
		app_close(c);
}

static void app_attach(struct cell *c)
{
	struct xiw_rdma_opts o = { .size = sizeof(o) };
	int err = xiw_rdma_attach(c->conn, &o, &c->rdma);

	if (err)
		die("attach: %s", strerror(-err));
}

static void on_request(struct cell *c)
{
	if (c->rdmap)
		app_attach(c);
	if (c->state == REJECTED)
		xiw_conn_reject(c->conn, NULL, 0);
	else if (c->state != DECIDING)
		xiw_conn_accept(c->conn, NULL, 0);
	if (c->state == RTR_CLOSED)
		app_close(c);
}

/* A connection that only receives was on the direct path at the peer's act. */
static void note_path(struct cell *c)
{
	struct xiw_conn_info info;

	if (path != XIW_USE_DIRECT || c->state != IDLE)
		return;
	xiw_conn_info(c->conn, &info, sizeof(info));
	c->never_direct = !info.went_direct;
}

static void handle(const struct xiw_completion *done)
{
	struct cell *c = &cells[0];

	while (c < cells + ncells && c->conn != done->conn)
		c++;
	/* A new connection of a listener: its first event may be its last. */
	if (c == cells + ncells) {
		c = &cells[done->user_data];
		c->conn = done->conn;
	}
	c->after += c->closed;
	switch (done->event) {
	case XIW_EV_REQUEST:
		on_request(c);
		break;
	case XIW_EV_CONNECTED:
		if (c->initiator && is_open(c))
			app_send(c, 1, 10);
		break;
	case XIW_EV_WRITTEN:
		if (++c->written == WRITES)
			app_ready(c);
		break;
	case XIW_EV_ERROR:
		if (!c->rdma)
			xiw_conn_close(c->conn);
		break;
	case XIW_EV_EOF:
		app_close(c);
		break;
	case XIW_EV_CLOSED:
		note_path(c);
		c->closed++;
		c->status = done->status;
		c->ended = now_ms();
		c->ended_had = ends.had_ms;
		break;
	default:
		break;
	}
}

/* RDMAP has no completion for the peer's Writes. */
static void count_writes(struct cell *c)
{
	struct xiw_rdma_info info;

	if (!c->rdma || c->ready)
		return;
	xiw_rdma_info(c->rdma, &info, sizeof(info));
	c->written = (unsigned int)info.writes_in;
	if (c->written == WRITES)
		app_ready(c);
}

static struct xiw_conn_opts options(const struct cell *c)
{
	return (struct xiw_conn_opts){
		.size = sizeof(struct xiw_conn_opts),
		.user_data = (uint64_t)(c - cells),
		.path = path,
		.review_reply = c->state == REVIEWING,
		.startup_timeout_ms = STARTUP_MS,
		.close_timeout_ms = CLOSE_MS,
		.keepalive_ms = KEEPALIVE_MS,
		.user_timeout_ms = USER_MS,
		.terminate_timeout_ms = CLOSE_MS,
	};
}

/* ---- cells ------------------------------------------------------------------------------------------- */

static void add(enum state s, enum act a, char role)
{
	struct cell *c = &cells[ncells++];

	if (ncells > CELLS_MAX)
		die("more cells than places");
	*c = (struct cell){ .state = s,
			    .act = a,
			    .bound = states[s].bound[a],
			    .initiator = role == 'i' || role == 'I',
			    .rdmap = role == 'I' || role == 'R',
			    .listener = -1,
			    .fd = -1 };
}

static void fill_cells(const char *only)
{
	char name[64];

	for (int s = 0; s < STATES; s++) {
		for (const char *r = states[s].roles; *r; r++) {
			for (int a = 0; a < ACTS; a++) {
				snprintf(name, sizeof(name), "%s-%s-%c", states[s].name, acts[a],
					 *r);
				if (states[s].bound[a] != NEVER && (!only || strstr(name, only)))
					add((enum state)s, (enum act)a, *r);
			}
		}
	}
}

/* The library connects. CONNECTING: to a host that does not exist, or to a port without a listener. */
static void open_initiator(struct cell *c)
{
	struct xiw_conn_opts o = options(c);
	struct sockaddr_in a = address(ends.there[c->act == VANISH], cell_port(c));
	int err;

	o.rtr = XIW_RTR_NONE; /* the peer's frames are a server's */
	if (c->state == CONNECTING && c->act == SILENT)
		a = address("192.0.2.1", 9);
	if (c->state != CONNECTING) {
		c->listener = peer_socket(c, cell_port(c));
		if (listen(c->listener, 1))
			die_errno("listen");
	}
	err = xiw_connect(engine, (struct sockaddr *)&a, sizeof(a), &o, &c->conn);
	if (err)
		die("connect: %s", strerror(-err));
	if (c->rdmap)
		app_attach(c);
}

static void open_responder(struct cell *c)
{
	struct sockaddr_in a = address("0.0.0.0", cell_port(c));
	struct xiw_conn_opts o = options(c);
	int err;

	if (rejects(c)) {
		c->listener = listen_on(cell_port(c));
		fcntl(c->listener, F_SETFL, O_NONBLOCK);
		return;
	}
	err = xiw_listen(engine, (struct sockaddr *)&a, sizeof(a), &o, &listeners[c - cells]);
	if (err)
		die("listen: %s", strerror(-err));
}

/* An upgraded connection: its last streaming message waits for room in front of the Reply. */
static void upgrade(struct cell *c)
{
	struct xiw_upgrade u = { .size = sizeof(u), .last = source, .last_len = LAST_LEN };
	struct xiw_conn_opts o = options(c);
	int fd = c->conn ? -1 : accept4(c->listener, NULL, NULL, SOCK_CLOEXEC), err;

	if (fd < 0)
		return;
	err = xiw_conn_from_fd(engine, fd, false, &o, &u, &c->conn);
	if (err)
		die("upgrade: %s", strerror(-err));
}

/* ---- verdicts ---------------------------------------------------------------------------------------- */

static bool wants_writes(const struct cell *c)
{
	return is_open(c) && c->conn;
}

static const char *wrong(const struct cell *c)
{
	static char why[128];
	const uint64_t took = c->ended - c->acted;

	if (c->phase != P_ACTED)
		return "the peer did not come so far";
	if (c->after)
		return "events behind CLOSED";
	if (c->closed != 1)
		return c->closed ? "CLOSED more than once" : "no CLOSED";
	if (c->never_direct)
		return "not direct";
	if (wants_writes(c) && c->written < WRITES) {
		snprintf(why, sizeof(why), "%u of %u Writes delivered", c->written, WRITES);
		return why;
	}
	if (c->bound == APPLICATION && (!c->app_closed || took < IDLE_MS)) {
		snprintf(why, sizeof(why), "ended a peer that lives, after %d ms, status %d",
			 (int)took, c->status);
		return why;
	}
	if (c->ended_had > c->acted_had + due_ms(c->bound) + SLACK_MS) {
		snprintf(why, sizeof(why),
			 "CLOSED after %d ms, of which this thread had %d, not %u", (int)took,
			 (int)(c->ended_had - c->acted_had), due_ms(c->bound));
		return why;
	}
	return NULL;
}

static void verdict(const struct cell *c)
{
	const char *why = wrong(c);

	printf("%s %s-%s-%s-%s%s%s%s\n", why ? "FAIL" : "PASS",
	       path == XIW_USE_KERNEL ? "kernel" : "direct", states[c->state].name, acts[c->act],
	       c->initiator ? "initiator" : "responder", c->rdmap ? "-rdmap" : "", why ? ": " : "",
	       why ? why : "");
	failures += !!why;
}

/* ---- run --------------------------------------------------------------------------------------------- */

static void take_host_away(const char *command)
{
	for (unsigned int i = 0; i < ncells && !ends.vanished; i++)
		if (cells[i].act == VANISH && !cells[i].calm)
			return;
	if (ends.vanished)
		return;
	if (system(command))
		die("%s", command);
	ends.vanished = true;
}

static uint64_t clock_us(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/*
 * A machine on which others run is slow, and what comes late there is not the library's doing. So a turn takes as long
 * as this thread ran, and as it may have waited.
 */
static void tick(void)
{
	static uint64_t wall, cpu, had;
	const uint64_t wall_now = clock_us(CLOCK_MONOTONIC);
	const uint64_t cpu_now = clock_us(CLOCK_THREAD_CPUTIME_ID);
	const uint64_t most = cpu_now - cpu + WAIT_MS * 1000;

	if (wall)
		had += wall_now - wall < most ? wall_now - wall : most;
	wall = wall_now;
	cpu = cpu_now;
	ends.had_ms = had / 1000;
}

/* True while the cell is neither over nor late. */
static bool step(struct cell *c)
{
	count_writes(c);
	if (rejects(c))
		upgrade(c);
	if (!c->closed || c->phase < P_ACTED)
		peer_step(c);
	if (c->phase < P_ACTED)
		return ends.had_ms < 10000;
	if (c->bound == APPLICATION && !c->app_closed && !c->closed &&
	    now_ms() - c->acted >= IDLE_MS)
		app_close(c);
	return !c->closed && ends.had_ms - c->acted_had < due_ms(c->bound) + SLACK_MS;
}

static void run(const char *command)
{
	struct xiw_completion done;
	bool more = true;

	while (more) {
		if (xiw_engine_run(engine, WAIT_MS) < 0)
			die("the engine failed");
		tick();
		while (xiw_engine_next(engine, &done))
			handle(&done);
		more = false;
		for (unsigned int i = 0; i < ncells; i++)
			more |= step(&cells[i]);
		take_host_away(command);
	}
}

static unsigned int descriptors(void)
{
	unsigned int n = 0;

	for (int fd = 0; fd < 4096; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Closes the peers' sockets and frees all objects. Descriptors that are left then have leaked. */
static void clean_up(unsigned int before)
{
	struct xiw_completion done;
	unsigned int left;

	for (unsigned int i = 0; i < ncells; i++) {
		close(cells[i].fd);
		close(cells[i].listener);
		xiw_listener_free(listeners[i]);
	}
	for (int i = 0; i < 20; i++)
		xiw_engine_run(engine, 5);
	while (xiw_engine_next(engine, &done))
		handle(&done);
	for (unsigned int i = 0; i < ncells; i++)
		verdict(&cells[i]);
	left = descriptors();
	printf("%s %s-descriptors: %u, %u before\n", left <= before ? "PASS" : "FAIL",
	       path == XIW_USE_KERNEL ? "kernel" : "direct", left, before);
	failures += left > before;
	for (unsigned int i = 0; i < ncells; i++)
		if (cells[i].conn)
			xiw_conn_free(cells[i].conn);
}

/* No slot of the flow table is owned. A kernel socket may need one for a while, but without an owner. */
static void check_slots(const char *ifname)
{
	struct xiw_status status = {};
	int err = xiw_status_read(ifname, NULL, &status, sizeof(status));

	printf("%s direct-slots: %d, %u connections\n", err || status.flows ? "FAIL" : "PASS", err,
	       status.flows);
	failures += err || status.flows;
}

int main(int argc, char **argv)
{
	struct xiw_region_opts ro = { .size = sizeof(ro),
				      .stag = &(uint32_t){ STAG },
				      .access = XIW_ACCESS_READ | XIW_ACCESS_WRITE };
	struct xiw_engine_opts eo = { .size = sizeof(eo), .app_ring_fd = -1 };
	struct xiw_region *region;
	unsigned int before;

	if (argc < 8 || argc > 9) {
		fprintf(stderr, "usage: ends kernel|direct IF HERE THERE THERE-TOO NAMESPACE "
				"VANISH [CELL]\n");
		return 2;
	}
	path = strcmp(argv[1], "direct") ? XIW_USE_KERNEL : XIW_USE_DIRECT;
	ends.here = argv[3];
	ends.there[0] = argv[4];
	ends.there[1] = argv[5];
	peer.crc = true;
	ends.ns_here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	ends.ns_there = open(argv[6], O_RDONLY | O_CLOEXEC);
	memory = calloc(1, SOURCE_LEN);
	source = calloc(1, SOURCE_LEN);
	if (ends.ns_here < 0 || ends.ns_there < 0 || !memory || !source ||
	    xiw_engine_create(&eo, &engine) ||
	    xiw_region_register(engine, memory, SOURCE_LEN, &ro, &region))
		die("cannot begin");
	if (path == XIW_USE_DIRECT) {
		struct sockaddr_in a = address(ends.here, 0);
		char why[96];

		if (xiw_engine_prepare(engine, (struct sockaddr *)&a, why, sizeof(why)))
			die("%s", why);
	}
	fill_cells(argv[8]);
	before = descriptors();
	for (unsigned int i = 0; i < ncells; i++)
		(cells[i].initiator ? open_initiator : open_responder)(&cells[i]);
	run(argv[7]);
	clean_up(before);
	if (path == XIW_USE_DIRECT)
		check_slots(argv[2]);
	xiw_region_free(region);
	xiw_engine_destroy(engine);
	return failures > 0;
}
