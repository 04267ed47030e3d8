// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What peers can make an engine take, and that others are served meanwhile: connections without a Request, beyond each
 * limit; and memory, for connections, unfinished FPDUs and what nobody reads. The library and its peers, plain sockets,
 * in one process.
 *
 *   limits [CASE]
 *
 * Prints PASS or FAIL for each case. Exit codes: 0 all passed, 1 not so.
 */
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <xiwarp/xiwarp.h>

#include "ddp/hdr.h"
#include "mpa/startup.h"
#include "mpa/tx.h"
#include "tests/net/lib/common.h"
#include "tests/net/lib/octets.h"

#define MANY 3000
#define PATIENCE_MS 15000
#define STAG 0x1234u
#define REGION (1u << 20)
#define MIN_MEMORY (4u << 20)
#define TRY(x)                                                                                     \
	do {                                                                                       \
		const char *why_ = (x);                                                            \
		if (why_)                                                                          \
			return why_;                                                               \
	} while (0)
#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			snprintf(why_not, sizeof(why_not), "line %d: %s", __LINE__, #x);           \
			return why_not;                                                            \
		}                                                                                  \
	} while (0)

static char why_not[256];
static uint8_t region_octets[REGION], message[8u << 20];

static struct {
	struct xiw_engine *e;
	struct xiw_listener *l[2];
	struct xiw_region *region;
	struct sockaddr_in at[2];
	bool mute; /* the application does not answer Requests */
	struct xiw_conn *deciding[MANY];
	struct xiw_conn *open[MANY];
	unsigned int ndeciding, nopen;
	unsigned int closed, crowded_out, told_crowded, told_memory, written;
	int fds[MANY];
	unsigned int nfds;
} t;

/* ---- the application ----------------------------------------------------------------------------- */

static void forget(struct xiw_conn **list, unsigned int *n, const struct xiw_conn *c)
{
	for (unsigned int i = 0; i < *n; i++)
		if (list[i] == c)
			list[i--] = list[--*n];
}

static void on_event(const struct xiw_completion *c)
{
	switch (c->event) {
	case XIW_EV_REQUEST:
		if (t.mute)
			t.deciding[t.ndeciding++] = c->conn;
		else
			xiw_conn_accept(c->conn, NULL, 0);
		break;
	case XIW_EV_CONNECTED:
		t.open[t.nopen++] = c->conn;
		break;
	case XIW_EV_WRITTEN:
		t.written++;
		break;
	case XIW_EV_NOT_ACCEPTED:
		t.told_crowded += c->status == -EUSERS;
		t.told_memory += c->status == -ENOMEM;
		break;
	case XIW_EV_ERROR:
		xiw_conn_abort(c->conn);
		break;
	case XIW_EV_EOF:
		xiw_conn_close(c->conn);
		break;
	case XIW_EV_CLOSED:
		t.closed++;
		t.crowded_out += c->status == -EUSERS;
		forget(t.deciding, &t.ndeciding, c->conn);
		forget(t.open, &t.nopen, c->conn);
		xiw_conn_free(c->conn);
		break;
	default:
		break;
	}
}

static void turn(int ms)
{
	struct xiw_completion c;

	xiw_engine_run(t.e, ms);
	while (xiw_engine_next(t.e, &c) > 0)
		on_event(&c);
}

static struct xiw_engine_info info(void)
{
	struct xiw_engine_info i;

	xiw_engine_info(t.e, &i, sizeof(i));
	return i;
}

/* Until the engine has nothing to do for a while. */
static void calm(void)
{
	for (int quiet = 0; quiet < 5; quiet++) {
		uint64_t start = now_ms();

		turn(20);
		if (now_ms() - start < 15)
			quiet = 0;
	}
}

static const char *begin(const struct xiw_engine_opts *eopts, const struct xiw_conn_opts *opts)
{
	const struct xiw_region_opts ropts = { .size = sizeof(ropts), .stag = &(uint32_t){ STAG } };
	struct sockaddr_in any = { .sin_family = AF_INET };

	memset(&t, 0, sizeof(t));
	CHECK(!xiw_engine_create(eopts, &t.e));
	CHECK(!xiw_region_register(t.e, region_octets, REGION, &ropts, &t.region));
	for (int i = 0; i < 2; i++) {
		struct sockaddr_storage ss;
		socklen_t len = sizeof(ss);

		CHECK(!xiw_listen(t.e, (struct sockaddr *)&any, sizeof(any), opts, &t.l[i]));
		CHECK(!xiw_listener_addr(t.l[i], &ss, &len));
		memcpy(&t.at[i], &ss, sizeof(t.at[i]));
		t.at[i].sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	}
	turn(0);
	return NULL;
}

static void drop_peers(void)
{
	while (t.nfds)
		close(t.fds[--t.nfds]);
}

/* Everything comes back. */
static const char *end(void)
{
	struct xiw_engine_info i;
	uint64_t until = now_ms() + PATIENCE_MS;

	drop_peers();
	do {
		turn(10);
		i = info();
	} while (i.connections && now_ms() < until);
	CHECK(!i.connections);
	CHECK(!i.unstarted);
	CHECK(i.memory_most <= i.memory_limit);
	/* What the engine has from the beginning, and stages that are kept for the next. */
	CHECK(i.memory < 3u << 20 || i.memory_limit > MIN_MEMORY);
	for (int n = 0; n < 2; n++)
		xiw_listener_free(t.l[n]);
	xiw_region_free(t.region);
	xiw_engine_destroy(t.e);
	return NULL;
}

/* ---- peers --------------------------------------------------------------------------------------- */

/* From 127.0.0.`from`. The engine runs while it waits. */
static int peer(unsigned int from, int listener)
{
	struct sockaddr_in local = { .sin_family = AF_INET,
				     .sin_addr.s_addr = htonl(0x7f000000 + from) };
	struct pollfd p = { .events = POLLOUT };
	int one = 1;

	p.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	setsockopt(p.fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof(one));
	if (p.fd < 0 || bind(p.fd, (struct sockaddr *)&local, sizeof(local)))
		die_errno("peer");
	setsockopt(p.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (connect(p.fd, (struct sockaddr *)&t.at[listener], sizeof(t.at[0])) &&
	    errno != EINPROGRESS)
		die_errno("connect");
	for (int i = 0; i < 1000 && !poll(&p, 1, 0); i++)
		turn(1);
	t.fds[t.nfds++] = p.fd;
	return p.fd;
}

static void idle(unsigned int n, unsigned int from, int listener)
{
	while (n--) {
		peer(from, listener);
		if (n % 16 == 0)
			turn(0);
	}
}

static bool give(int fd, const void *p, size_t len)
{
	return send(fd, p, len, MSG_NOSIGNAL) == (ssize_t)len;
}

static bool request(int fd)
{
	struct xiw_mpa_frame f = { .rev = 1, .crc = true };
	uint8_t buf[XIW_MPA_FRAME_MAX];

	return give(fd, buf, (size_t)xiw_mpa_frame_encode(&f, buf, sizeof(buf)));
}

/* False: closed, or nothing came. */
static bool take(int fd, void *to, size_t len)
{
	uint64_t until = now_ms() + PATIENCE_MS;
	uint8_t *p = to;

	while (len && now_ms() < until) {
		ssize_t n = recv(fd, p, len, 0);

		if (!n || (n < 0 && errno != EAGAIN))
			return false;
		if (n > 0) {
			p += n;
			len -= (size_t)n;
		}
		turn(n > 0 ? 0 : 1);
	}
	return !len;
}

static bool served(int fd)
{
	uint8_t reply[XIW_MPA_FRAME_HDR];

	return request(fd) && take(fd, reply, sizeof(reply)) && !memcmp(reply, "MPA ID Rep", 10);
}

/* One FPDU of a tagged message, to be given in parts. */
static uint32_t fpdu(uint8_t *to, uint32_t payload)
{
	struct xiw_ddp_hdr h = { .tagged = true, .last = true, .dv = 1, .stag = STAG };
	struct xiw_mpa_tx tx = { .crc = true };
	static uint8_t octets[65536];
	uint8_t header[XIW_DDP_HDR_MAX];
	uint32_t hlen = xiw_ddp_hdr_encode(&h, header);

	return xiw_mpa_build(&tx, to, header, hlen, octets, payload);
}

/* ---- connections that are none yet ---------------------------------------------------------------- */

static const char *of_a_listener(void)
{
	const struct xiw_conn_opts opts = { .size = sizeof(opts),
					    .max_unstarted = 20,
					    .max_unstarted_peer = 20,
					    .startup_timeout_ms = 60000 };
	int other;

	TRY(begin(NULL, &opts));
	other = peer(9, 1);
	idle(100, 1, 0);
	calm();
	CHECK(info().unstarted == 21);
	CHECK(info().unstarted_reset == 80 && t.crowded_out == 80);
	CHECK(t.told_crowded == 1);
	/* Here, in the place of the oldest, and at the other listener. */
	CHECK(served(peer(2, 0)));
	CHECK(served(other));
	return end();
}

static const char *of_a_peer(void)
{
	const struct xiw_conn_opts opts = { .size = sizeof(opts),
					    .max_unstarted = 1000,
					    .max_unstarted_peer = 10,
					    .startup_timeout_ms = 60000 };
	int first;

	TRY(begin(NULL, &opts));
	first = peer(2, 0);
	idle(100, 1, 0);
	calm();
	CHECK(info().unstarted == 11);
	CHECK(served(first));
	CHECK(served(peer(1, 0)));
	return end();
}

static const char *of_the_engine(void)
{
	const struct xiw_engine_opts eopts = { .size = sizeof(eopts), .max_unstarted = 30 };
	const struct xiw_conn_opts opts = { .size = sizeof(opts),
					    .max_unstarted = 1000,
					    .max_unstarted_peer = 1000,
					    .startup_timeout_ms = 60000 };

	TRY(begin(&eopts, &opts));
	idle(50, 1, 0);
	idle(50, 1, 1);
	calm();
	CHECK(info().unstarted == 30);
	CHECK(served(peer(1, 0)) && served(peer(1, 1)));
	return end();
}

/* Those that the application has not answered count, and stay. */
static const char *being_decided(void)
{
	const struct xiw_conn_opts opts = { .size = sizeof(opts),
					    .max_unstarted = 10,
					    .max_unstarted_peer = 10,
					    .startup_timeout_ms = 60000 };
	uint8_t reply[XIW_MPA_FRAME_HDR];
	char c;

	TRY(begin(NULL, &opts));
	t.mute = true;
	for (int i = 0; i < 10; i++)
		CHECK(request(peer(1, 0)));
	calm();
	CHECK(t.ndeciding == 10);
	CHECK(!take(peer(1, 0), &c, 1)); /* reset */
	CHECK(t.told_crowded == 1 && !t.closed && t.ndeciding == 10);
	for (unsigned int i = 0; i < 10; i++)
		CHECK(!xiw_conn_accept(t.deciding[i], NULL, 0));
	t.ndeciding = 0;
	t.mute = false;
	for (unsigned int i = 0; i < 10; i++)
		CHECK(take(t.fds[i], reply, sizeof(reply)));
	CHECK(served(peer(1, 0)));
	return end();
}

/* Idle connections have every descriptor: after a while they make way, long before their time-out (RLIMIT_NOFILE counts what is the peers' as well). */
static const char *descriptors(void)
{
	const struct xiw_conn_opts opts = { .size = sizeof(opts),
					    .max_unstarted = 1000,
					    .max_unstarted_peer = 1000,
					    .startup_timeout_ms = 60000 };
	struct rlimit old, few;
	int next;
	bool got;

	getrlimit(RLIMIT_NOFILE, &old);
	few = old;
	few.rlim_cur = 129;
	setrlimit(RLIMIT_NOFILE, &few);
	TRY(begin(NULL, &opts));
	do {
		idle(1, 1, 0);
		turn(5);
		next = dup(0);
		close(next);
	} while (next < 127);
	/* One more, which is the honest peer's own. */
	while ((next = dup(0)) < 128)
		t.fds[t.nfds++] = next;
	close(next);
	got = served(peer(1, 0));
	setrlimit(RLIMIT_NOFILE, &old);
	CHECK(got);
	return end();
}

/* ---- memory -------------------------------------------------------------------------------------- */

static const struct xiw_engine_opts tight = {
	.size = sizeof(tight), .memory = MIN_MEMORY, .frames = 256, .max_unstarted = 100000
};

static const char *for_connections(void)
{
	const struct xiw_conn_opts opts = { .size = sizeof(opts),
					    .max_unstarted = 100000,
					    .max_unstarted_peer = 100000,
					    .startup_timeout_ms = 60000 };

	TRY(begin(&tight, &opts));
	idle(MANY - 10, 1, 0);
	calm();
	CHECK(info().memory_refused > 0 && t.told_memory == 1);
	CHECK(info().memory <= MIN_MEMORY);
	drop_peers();
	calm();
	CHECK(served(peer(1, 0)));
	return end();
}

/* What a stream needs, for each Request. */
static const char *for_queues(void)
{
	const struct xiw_conn_opts opts = { .size = sizeof(opts), .recv_depth = 4096 };
	unsigned int ok = 0;

	TRY(begin(&tight, &opts));
	for (int i = 0; i < 30; i++)
		ok += served(peer(1, 0));
	CHECK(ok > 2 && ok < 30 && t.told_memory >= 1);
	drop_peers();
	calm();
	CHECK(served(peer(1, 0)));
	return end();
}

/*
 * Who speaks RFC 6581 is told by a Terminate message with code 5 (section 9.3), in answer to his first FPDU; and one that
 * sends none is not waited for longer than a connection may take to begin.
 */
static const char *for_queues_told(void)
{
	static const uint8_t terminate[22] = { 0x41, 0x47, [9] = 2, [13] = 1, [18] = 0x20, 5 };
	const struct xiw_conn_opts opts = { .size = sizeof(opts),
					    .recv_depth = 4096,
					    .startup_timeout_ms = 300 };
	const struct xiw_mpa_frame f = { .rev = 2, .crc = true, .has_enhanced = true };
	uint8_t frame[XIW_MPA_FRAME_MAX], reply[XIW_MPA_FRAME_HDR + 4], first[64], last[28];
	size_t len = (size_t)xiw_mpa_frame_encode(&f, frame, sizeof(frame));
	int told, silent;

	TRY(begin(&tight, &opts));
	for (int i = 0; i < 30; i++)
		served(peer(1, 0));
	CHECK(info().memory_refused > 0);
	told = peer(1, 0);
	CHECK(give(told, frame, len) && take(told, reply, sizeof(reply)));
	CHECK(!(reply[16] & 0x20));
	CHECK(give(told, first, fpdu(first, 10)) && take(told, last, sizeof(last)));
	CHECK(!memcmp(last + 2, terminate, sizeof(terminate)));
	CHECK(!take(told, last, 1));
	silent = peer(1, 0);
	CHECK(give(silent, frame, len) && take(silent, reply, sizeof(reply)));
	CHECK(!take(silent, last, 1) && !t.written);
	return end();
}

/* 64 KiB each for an FPDU that is never whole. Who means to finish his gets the memory of one that does not. */
static const char *for_fpdus(void)
{
	const struct xiw_conn_opts opts = { .size = sizeof(opts),
					    .recv_depth = 1,
					    .send_depth = 1 };
	static uint8_t f[70000];
	uint32_t len = fpdu(f, 60000);
	int honest;

	TRY(begin(&tight, &opts));
	for (int i = 0; i < 100; i++) {
		int fd = peer(1, 0);

		if (served(fd))
			give(fd, f, len - 10);
	}
	calm();
	CHECK(info().memory_refused > 0);
	for (uint64_t until = now_ms() + 2500; now_ms() < until;)
		turn(10);
	honest = peer(1, 0);
	CHECK(served(honest));
	CHECK(give(honest, f, 40000));
	calm();
	CHECK(give(honest, f + 40000, len - 40000));
	for (uint64_t until = now_ms() + PATIENCE_MS; !t.written && now_ms() < until;)
		turn(10);
	CHECK(t.written == 1);
	return end();
}

/* A quarter of a MiB each for messages that nobody reads. */
static const char *for_sending(void)
{
	const struct xiw_conn_opts opts = { .size = sizeof(opts),
					    .recv_depth = 1,
					    .send_depth = 4 };
	struct xiw_message m = {
		.buf = message, .len = sizeof(message), .tagged = true, .stag = 1, .user_data = 1
	};
	static uint8_t f[2000], got[sizeof(message)];
	uint32_t len = fpdu(f, 100);
	unsigned int small = 4096;
	int fd = -1;

	TRY(begin(&tight, &opts));
	for (int i = 0; i < 41; i++) {
		fd = peer(1, 0);
		if (i < 40)
			setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
		CHECK(served(fd) && give(fd, f, len));
	}
	calm();
	CHECK(t.nopen == 41 && t.written == 41);
	for (int i = 0; i < 40; i++)
		CHECK(!xiw_conn_send(t.open[i], &m));
	calm();
	CHECK(info().memory_refused > 0);
	/* The last one reads. */
	CHECK(!xiw_conn_send(t.open[40], &m));
	CHECK(take(fd, got, sizeof(got)));
	return end();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		const char *(*run)(void);
	} cases[] = {
		{ "unstarted-of-a-listener", of_a_listener },
		{ "unstarted-of-a-peer", of_a_peer },
		{ "unstarted-of-the-engine", of_the_engine },
		{ "unstarted-being-decided", being_decided },
		{ "unstarted-and-no-descriptors", descriptors },
		{ "memory-for-connections", for_connections },
		{ "memory-for-queues", for_queues },
		{ "memory-for-queues-told", for_queues_told },
		{ "memory-for-fpdus", for_fpdus },
		{ "memory-for-sending", for_sending },
	};
	struct rlimit files = { 10000, 10000 };
	int failures = 0;

	setrlimit(RLIMIT_NOFILE, &files);
	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *why;

		if (argc > 1 && strcmp(argv[1], cases[i].name))
			continue;
		why = cases[i].run();
		if (why) {
			printf("FAIL %s: %s\n", cases[i].name, why);
			failures++;
			drop_peers();
		} else {
			printf("PASS %s\n", cases[i].name);
		}
		fflush(stdout);
	}
	return failures > 0;
}
