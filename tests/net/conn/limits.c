// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What peers can make an engine take, and that it serves others meanwhile: connections without a Request, beyond each
 * limit (limits_unstarted.c); and memory, for connections, unfinished FPDUs and messages that nobody reads
 * (limits_memory.c). The library and its peers, plain sockets, are in one process.
 *
 *   limits [CASE]
 *
 * Prints PASS or FAIL for each case. Exit codes: 0 all passed, 1 some failed.
 */
#include "tests/net/conn/limits.h"
#include "tests/net/lib/ended.h"

#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "mpa/startup.h"

char why_not[256];
struct limits t;

static uint8_t region_octets[REGION];

/* ---- the application ------------------------------------------------------------------------- */

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
	case XIW_EV_CLOSED:
		t.closed++;
		t.crowded_out += c->status == -EUSERS;
		forget(t.deciding, &t.ndeciding, c->conn);
		forget(t.open, &t.nopen, c->conn);
		xiw_conn_free(c->conn);
		break;
	default:
		follow_end(c);
		break;
	}
}

void turn(int ms)
{
	struct xiw_completion c;

	xiw_engine_run(t.e, ms);
	while (xiw_engine_next(t.e, &c) > 0)
		on_event(&c);
}

struct xiw_engine_info engine_info(void)
{
	struct xiw_engine_info i;

	xiw_engine_info(t.e, &i, sizeof(i));
	return i;
}

void calm(void)
{
	for (int quiet = 0; quiet < 5; quiet++) {
		uint64_t start = now_ms();

		turn(20);
		if (now_ms() - start < 15)
			quiet = 0;
	}
}

const char *open_engine(const struct xiw_engine_opts *eopts, const struct xiw_conn_opts *opts)
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

struct xiw_conn_opts unstarted_opts(unsigned int of_a_listener, unsigned int of_a_peer)
{
	return (struct xiw_conn_opts){ .size = sizeof(struct xiw_conn_opts),
				       .max_unstarted = of_a_listener,
				       .max_unstarted_peer = of_a_peer,
				       .startup_timeout_ms = 60000 };
}

void drop_peers(void)
{
	while (t.nfds)
		close(t.fds[--t.nfds]);
}

const char *all_back(void)
{
	struct xiw_engine_info i;
	uint64_t until = now_ms() + PATIENCE_MS;

	drop_peers();
	do {
		turn(10);
		i = engine_info();
	} while (i.connections && now_ms() < until);
	CHECK(!i.connections);
	CHECK(!i.unstarted);
	CHECK(i.memory_most <= i.memory_limit);
	/* What the engine has from the beginning, and stages that it keeps for reuse. */
	CHECK(i.memory < 3u << 20 || i.memory_limit > MIN_MEMORY);
	for (int n = 0; n < 2; n++)
		xiw_listener_free(t.l[n]);
	xiw_region_free(t.region);
	xiw_engine_destroy(t.e);
	return NULL;
}

/* ---- peers ----------------------------------------------------------------------------------- */

int dial(unsigned int from, int listener)
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

void idle(unsigned int n, unsigned int from, int listener)
{
	while (n--) {
		dial(from, listener);
		if (n % 16 == 0)
			turn(0);
	}
}

bool give(int fd, const void *p, size_t len)
{
	return send(fd, p, len, MSG_NOSIGNAL) == (ssize_t)len;
}

bool request(int fd)
{
	struct xiw_mpa_frame f = { .rev = 1, .crc = true };
	uint8_t buf[XIW_MPA_FRAME_MAX];

	return give(fd, buf, (size_t)xiw_mpa_frame_encode(&f, buf, sizeof(buf)));
}

bool take(int fd, void *to, size_t len)
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

bool served(int fd)
{
	uint8_t reply[XIW_MPA_FRAME_HDR];

	return request(fd) && take(fd, reply, sizeof(reply)) && !memcmp(reply, "MPA ID Rep", 10);
}

/* ---- run ------------------------------------------------------------------------------------- */

static unsigned int run_cases(const struct limit_case *cases, const char *only)
{
	unsigned int failures = 0;

	for (const struct limit_case *c = cases; c->name; c++) {
		const char *why;

		if (only && strcmp(only, c->name))
			continue;
		why = c->run();
		printf("%s %s%s%s\n", why ? "FAIL" : "PASS", c->name, why ? ": " : "", why ?: "");
		fflush(stdout);
		failures += !!why;
		if (why)
			drop_peers();
	}
	return failures;
}

int main(int argc, char **argv)
{
	const struct rlimit files = { 10000, 10000 };
	const char *only = argc > 1 ? argv[1] : NULL;

	setrlimit(RLIMIT_NOFILE, &files);
	return run_cases(unstarted_cases, only) + run_cases(memory_cases, only) > 0;
}
