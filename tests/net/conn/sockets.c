// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sockets as programs expect them: listening in steps, sockets of the application's, the local address of a connect,
 * and socket options, which the ACKs of the direct path follow.
 *
 *   sockets cases             all but the last, on loopback
 *   sockets recv PORT         the library's end, and
 *   sockets send HOST PORT IF the peer, which watches the packets that come by its interface
 *
 * Prints PASS or FAIL for each case. Exit codes: 0 all passed, 1 some failed, 2 usage.
 */
#include "tests/net/conn/sockets.h"

#include <linux/tcp.h>
#include <unistd.h>

#include "ddp/hdr.h"
#include "mpa/startup.h"
#include "mpa/tx.h"

struct xiw_engine *engine;
uint8_t memory[SIZE];
struct xiw_completion last;
unsigned int written;
char why[256];

void turn(int ms)
{
	struct xiw_completion c;

	xiw_engine_run(engine, ms);
	while (xiw_engine_next(engine, &c) > 0) {
		if (c.event == XIW_EV_REQUEST)
			xiw_conn_accept(c.conn, NULL, 0);
		if (c.event == XIW_EV_WRITTEN)
			written++;
		else
			last = c;
	}
}

bool begin(struct xiw_region **r)
{
	uint32_t stag = STAG;
	struct xiw_region_opts ropts = { .size = sizeof(ropts), .stag = &stag };

	memset(&last, 0, sizeof(last));
	written = 0;
	CHECK(!xiw_engine_create(NULL, &engine));
	CHECK(!xiw_region_register(engine, memory, SIZE, &ropts, r));
	return true;
}

/* ---- the socket that the library opens ------------------------------------------------------------- */

static int given_fd; /* of the last socket that was prepared */

static int note(int fd, void *ctx)
{
	given_fd = fd;
	*(unsigned int *)ctx += 1;
	return 0;
}

static int refuse(int fd, void *ctx)
{
	(void)fd;
	(void)ctx;
	return -EACCES;
}

static int get_option(int fd, int level, int option)
{
	socklen_t len = sizeof(int);
	int value = -1;

	return getsockopt(fd, level, option, &value, &len) ? -1 : value;
}

static uint32_t backlog_of(int fd)
{
	struct tcp_info info = {};
	socklen_t len = sizeof(info);

	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) ? 0 : info.tcpi_sacked;
}

/* ---- cases ------------------------------------------------------------------------------------------ */

static struct sockaddr_in loopback(uint16_t port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(port),
	};
}

static uint16_t port_of(const struct xiw_listener *l)
{
	struct sockaddr_storage ss;
	socklen_t len;

	return xiw_listener_addr(l, &ss, &len) ? 0 : ntohs(((struct sockaddr_in *)&ss)->sin_port);
}

/* A peer connects, is served, and its octets come. */
static bool serves(uint16_t port)
{
	struct xiw_ddp_hdr h = { .tagged = true, .last = true, .dv = 1, .stag = STAG };
	const struct sockaddr_in at = loopback(port);
	uint8_t header[XIW_DDP_HDR_MAX], fpdu[2048], payload[PIECE], frame[20];
	struct xiw_mpa_frame f = { .rev = 1, .crc = true };
	struct xiw_mpa_tx tx = { .crc = true };
	int sock = socket(AF_INET, SOCK_STREAM, 0), len;

	CHECK(!connect(sock, (const struct sockaddr *)&at, sizeof(at)));
	len = xiw_mpa_frame_encode(&f, frame, sizeof(frame));
	CHECK(send(sock, frame, (size_t)len, 0) == len);
	UNTIL(last.event == XIW_EV_CONNECTED);
	UNTIL(recv(sock, frame, sizeof(frame), MSG_DONTWAIT | MSG_PEEK) == len);
	for (uint32_t i = 0; i < PIECE; i++)
		payload[i] = octet(i);
	len = (int)xiw_mpa_build(&tx, fpdu, header, xiw_ddp_hdr_encode(&h, header), payload, PIECE);
	CHECK(send(sock, fpdu, (size_t)len, 0) == len);
	UNTIL(written == 1);
	CHECK(!memcmp(memory, payload, PIECE));
	xiw_conn_abort(last.conn);
	UNTIL(last.event == XIW_EV_CLOSED);
	xiw_conn_free(last.conn);
	close(sock);
	return true;
}

static bool in_steps(void)
{
	unsigned int prepared = 0;
	struct xiw_conn_opts opts = { .size = sizeof(opts), .prepare = note };
	struct sockaddr_in at = loopback(0);
	struct xiw_listener *l;
	int sock = socket(AF_INET, SOCK_STREAM, 0);

	opts.prepare_ctx = &prepared;
	opts.backlog = 7;
	CHECK(!xiw_listener_bind(engine, (struct sockaddr *)&at, sizeof(at), &opts, &l));
	CHECK(prepared == 1);
	at = loopback(port_of(l));
	CHECK(at.sin_port);
	turn(0);
	CHECK(connect(sock, (struct sockaddr *)&at, sizeof(at)) && errno == ECONNREFUSED);
	close(sock);
	CHECK(!xiw_listener_start(l, 0));
	CHECK(backlog_of(given_fd) == 7);
	CHECK(xiw_listener_start(l, 0) == -EALREADY);
	CHECK(serves(port_of(l)));
	xiw_listener_free(l);
	/* One that is never started, and one that its application refuses. */
	at = loopback(0);
	CHECK(!xiw_listener_bind(engine, (struct sockaddr *)&at, sizeof(at), &opts, &l));
	xiw_listener_free(l);
	opts.prepare = refuse;
	CHECK(xiw_listen(engine, (struct sockaddr *)&at, sizeof(at), &opts, &l) == -EACCES);
	return true;
}

/* One that is bound, and one that listens and does not block. */
static bool given(void)
{
	struct sockaddr_in at = loopback(0);
	struct xiw_listener *l;
	int pipes[2], fd;

	CHECK(!pipe(pipes));
	CHECK(xiw_listener_from_fd(engine, pipes[0], NULL, &l) == -ENOTSOCK);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	CHECK(xiw_listener_from_fd(engine, fd, NULL, &l) == -EINVAL);
	for (int listens = 0; listens < 2; listens++) {
		memset(&last, 0, sizeof(last));
		written = 0;
		fd = socket(AF_INET, SOCK_STREAM | (listens ? SOCK_NONBLOCK : 0), 0);
		CHECK(!bind(fd, (struct sockaddr *)&at, sizeof(at)));
		CHECK(!listens || !listen(fd, 3));
		CHECK(!xiw_listener_from_fd(engine, fd, NULL, &l));
		CHECK(!xiw_listener_start(l, 0));
		CHECK(backlog_of(fd) == (listens ? 3 : 1024));
		CHECK(serves(port_of(l)));
		xiw_listener_free(l);
	}
	return true;
}

static int bind_to(int fd, void *ctx)
{
	return bind(fd, ctx, sizeof(struct sockaddr_in)) ? -errno : 0;
}

static bool same_end(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	const struct sockaddr_in *x = (const void *)a, *y = (const void *)b;

	return x->sin_port && x->sin_port == y->sin_port &&
	       x->sin_addr.s_addr == y->sin_addr.s_addr;
}

static bool known(bool bound)
{
	struct sockaddr_in from = loopback(0), at = loopback(0);
	struct xiw_conn_opts opts = { .size = sizeof(opts) };
	struct sockaddr_storage came = {};
	struct xiw_conn_info i;
	socklen_t len = sizeof(at);
	struct xiw_conn *c;
	int l = socket(AF_INET, SOCK_STREAM, 0), fd;

	from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 4);
	opts.prepare = bound ? bind_to : NULL;
	opts.prepare_ctx = &from;
	CHECK(!bind(l, (struct sockaddr *)&at, sizeof(at)) && !listen(l, 1));
	CHECK(!getsockname(l, (struct sockaddr *)&at, &len));
	CHECK(!xiw_connect(engine, (struct sockaddr *)&at, sizeof(at), &opts, &c));
	xiw_conn_info(c, &i, sizeof(i));
	len = sizeof(came);
	fd = accept(l, (struct sockaddr *)&came, &len);
	CHECK(fd >= 0 && same_end(&came, &i.local));
	CHECK(!bound || ((struct sockaddr_in *)&came)->sin_addr.s_addr == from.sin_addr.s_addr);
	xiw_conn_abort(c);
	UNTIL(last.event == XIW_EV_CLOSED);
	xiw_conn_free(c);
	close(fd);
	close(l);
	return true;
}

static bool local_address(void)
{
	return known(false) && known(true);
}

/* Errors come as events, whether TCP knows them at once or not. */
static bool refused(void)
{
	struct xiw_conn_opts opts = { .size = sizeof(opts), .prepare = refuse };
	struct sockaddr_in at = loopback(1);
	struct xiw_conn *c;

	CHECK(xiw_connect(engine, (struct sockaddr *)&at, sizeof(at), &opts, &c) == -EACCES);
	for (int i = 0; i < 2; i++) {
		memset(&last, 0, sizeof(last));
		CHECK(!xiw_connect(engine, (struct sockaddr *)&at, sizeof(at), NULL, &c));
		UNTIL(last.event == XIW_EV_CLOSED);
		CHECK(last.status == -(i ? ENETUNREACH : ECONNREFUSED));
		xiw_conn_free(c);
		at.sin_addr.s_addr = htonl(0xf0000001); /* class E: no route */
	}
	return true;
}

static bool options(void)
{
	unsigned int prepared = 0;
	struct xiw_conn_opts opts = { .size = sizeof(opts), .prepare = note };
	struct sockaddr_in at = loopback(0);
	socklen_t len = sizeof(at);
	struct xiw_conn *c;
	int l = socket(AF_INET, SOCK_STREAM, 0);

	opts.prepare_ctx = &prepared;
	CHECK(!bind(l, (struct sockaddr *)&at, sizeof(at)) && !listen(l, 1));
	CHECK(!getsockname(l, (struct sockaddr *)&at, &len));
	CHECK(!xiw_connect(engine, (struct sockaddr *)&at, sizeof(at), &opts, &c));
	CHECK(prepared == 1);
	CHECK(!xiw_conn_setsockopt(c, IPPROTO_IP, IP_TOS, TOS));
	CHECK(get_option(given_fd, IPPROTO_IP, IP_TOS) == TOS);
	CHECK(!xiw_conn_setsockopt(c, IPPROTO_IP, IP_TTL, HOPS));
	CHECK(get_option(given_fd, IPPROTO_IP, IP_TTL) == HOPS);
	CHECK(!xiw_conn_setsockopt(c, SOL_SOCKET, SO_PRIORITY, 5));
	CHECK(get_option(given_fd, SOL_SOCKET, SO_PRIORITY) == 5);
	CHECK(xiw_conn_setsockopt(c, IPPROTO_IP, IP_TTL, 256) == -EINVAL);
	CHECK(xiw_conn_setsockopt(c, IPPROTO_TCP, TCP_NODELAY, 0) == -EINVAL);
	CHECK(get_option(given_fd, IPPROTO_TCP, TCP_NODELAY) == 1);
	xiw_conn_abort(c);
	UNTIL(last.event == XIW_EV_CLOSED);
	CHECK(xiw_conn_setsockopt(c, IPPROTO_IP, IP_TOS, 0) == -ENOTCONN);
	xiw_conn_free(c);
	close(l);
	return true;
}

static int run_cases(void)
{
	static const struct {
		const char *name;
		bool (*run)(void);
	} cases[] = {
		{ "listening-in-steps", in_steps },
		{ "a-socket-of-the-application", given },
		{ "local-address", local_address },
		{ "connect-refused", refused },
		{ "options", options },
	};
	unsigned int failures = 0;

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct xiw_region *r;

		if (begin(&r) && cases[i].run()) {
			printf("PASS %s\n", cases[i].name);
		} else {
			printf("FAIL %s: %s\n", cases[i].name, why);
			failures++;
		}
		fflush(stdout);
		xiw_region_free(r);
		xiw_engine_destroy(engine);
	}
	return failures != 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "cases"))
		return run_cases();
	if (argc == 3 && !strcmp(argv[1], "recv"))
		return receive_marked((uint16_t)atoi(argv[2]));
	if (argc == 5 && !strcmp(argv[1], "send"))
		return send_and_watch(argv[2], (uint16_t)atoi(argv[3]), argv[4]);
	return 2;
}
