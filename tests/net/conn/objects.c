// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * objects - how long things live: events behind the last one, completions of what was freed, objects that outlive their
 * engine, and what the application gets back. The library's end is on loopback, and its peers are plain sockets in the
 * same thread, so that the test chooses what comes in one turn of the engine.
 *
 *   objects [CASE]
 *
 * Prints PASS and FAIL lines.
 */
#include "tests/net/conn/objects.h"

#include <netinet/tcp.h>
#include <unistd.h>

#include "ddp/hdr.h"
#include "mpa/startup.h"
#include "mpa/tx.h"

struct xiw_engine *engine;
struct xiw_listener *listener;
struct xiw_region *region;
uint8_t memory[SIZE];
bool as_rdmap, hold_answers, free_at_refused, as_example;
struct seen seen[CONNS];
unsigned int nseen, strangers;

static struct xiw_mpa_tx tx;

/* ---- the application ------------------------------------------------------------------------- */

bool make_engine(void)
{
	static const uint32_t stag = STAG;
	struct sockaddr_in any = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct xiw_engine_opts eo = { .size = sizeof(eo), .app_ring_fd = -1, .cq_entries = 4096 };
	struct xiw_region_opts ro = { .size = sizeof(ro), .stag = &stag };

	return !xiw_engine_create(&eo, &engine) &&
	       !xiw_region_register(engine, memory, SIZE, &ro, &region) &&
	       !xiw_listen(engine, (struct sockaddr *)&any, sizeof(any), NULL, &listener);
}

static struct seen *find(struct xiw_conn *c)
{
	for (unsigned int i = 0; i < nseen; i++)
		if (seen[i].conn == c)
			return &seen[i];
	return NULL;
}

struct seen *add(struct xiw_conn *c)
{
	seen[nseen] = (struct seen){ .conn = c };
	return &seen[nseen++];
}

static void handle(const struct xiw_completion *c)
{
	struct seen *s = find(c->conn);

	if (!s && c->event == XIW_EV_REQUEST && nseen < CONNS)
		s = add(c->conn);
	if (!s) {
		strangers++;
		return;
	}
	s->events++;
	s->after += s->closed;
	s->last = *c;
	switch (c->event) {
	case XIW_EV_REQUEST:
		if (as_rdmap && xiw_rdma_attach(c->conn, NULL, &s->rdma))
			exit(1);
		if (!hold_answers)
			xiw_conn_accept(c->conn, NULL, 0);
		break;
	case XIW_EV_CONNECTED:
		s->connected++;
		break;
	case XIW_EV_REFUSED:
		s->refused++;
		if (free_at_refused) {
			xiw_conn_free(c->conn);
			s->conn = NULL;
		}
		break;
	case XIW_EV_WRITTEN:
		s->written++;
		break;
	case XIW_EV_EOF:
		s->eof++;
		if (as_example)
			xiw_conn_close(c->conn);
		break;
	case XIW_EV_ERROR:
		if (as_example)
			xiw_conn_abort(c->conn);
		break;
	case XIW_EV_CLOSED:
		s->closed++;
		break;
	default:
		break;
	}
}

static void take(void)
{
	struct xiw_completion c;

	while (xiw_engine_next(engine, &c))
		handle(&c);
}

void run(unsigned int turns)
{
	while (turns--) {
		xiw_engine_run(engine, 1);
		take();
	}
}

/* ---- the peer -------------------------------------------------------------------------------- */

int dial(void)
{
	struct sockaddr_storage addr;
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len;

	if (xiw_listener_addr(listener, &addr, &len) || connect(fd, (struct sockaddr *)&addr, len))
		exit(1);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

/* The library may have ended the connection already. */
void push(int fd, const void *data, size_t len)
{
	(void)!send(fd, data, len, MSG_NOSIGNAL);
}

void request(int fd)
{
	const struct xiw_mpa_frame f = { .rev = 1, .crc = true };
	uint8_t buf[XIW_MPA_FRAME_MAX];

	push(fd, buf, (size_t)xiw_mpa_frame_encode(&f, buf, sizeof(buf)));
}

void reset_stream(void)
{
	tx = (struct xiw_mpa_tx){ .crc = true };
}

int open_peer(void)
{
	const unsigned int before = nseen;
	uint8_t reply[20];
	size_t nread = 0;
	int fd = dial();

	request(fd);
	for (int i = 0; i < 2000 && nread < sizeof(reply); i++) {
		ssize_t n = recv(fd, reply + nread, sizeof(reply) - nread, MSG_DONTWAIT);

		if (n > 0)
			nread += (size_t)n;
		run(1);
	}
	if (nread < sizeof(reply) || nseen == before || !seen[before].connected)
		return -1;
	reset_stream();
	return fd;
}

size_t tagged(uint8_t *out, uint32_t stag, uint64_t to, uint32_t len, bool last)
{
	static uint8_t payload[2048];
	const struct xiw_ddp_hdr h = { .tagged = true,
				       .last = last,
				       .dv = XIW_DDP_VERSION,
				       .rsvdulp = { 0x40 },
				       .stag = stag,
				       .to = to };
	uint8_t raw[XIW_DDP_HDR_MAX];

	return xiw_mpa_build(&tx, out, raw, xiw_ddp_hdr_encode(&h, raw), payload, len);
}

void push_tagged(int fd, uint32_t stag, uint64_t to, uint32_t len, bool last)
{
	uint8_t f[4096];

	push(fd, f, tagged(f, stag, to, len, last));
}

void reset(int fd)
{
	const struct linger linger = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	close(fd);
}

/* ---- run ------------------------------------------------------------------------------------- */

static unsigned int run_cases(const struct object_case *cases, const char *only)
{
	unsigned int failures = 0;

	for (const struct object_case *c = cases; c->name; c++) {
		bool ok;

		if (only && strcmp(only, c->name))
			continue;
		nseen = strangers = 0;
		as_rdmap = c->rdmap;
		hold_answers = free_at_refused = as_example = false;
		ok = c->fn();
		printf("%s %s%s\n", ok ? "PASS" : "FAIL", c->name, ok ? "" : ": see above");
		fflush(stdout);
		failures += !ok;
		while (nseen)
			xiw_conn_free(seen[--nseen].conn);
		run(10);
	}
	return failures;
}

int main(int argc, char **argv)
{
	const char *only = argc > 1 ? argv[1] : NULL;
	unsigned int failures;

	if (!make_engine())
		return 1;
	failures = run_cases(event_cases, only) + run_cases(engine_cases, only) +
		   run_cases(refused_cases, only);
	xiw_listener_free(listener);
	xiw_region_free(region);
	xiw_engine_destroy(engine);
	return failures > 0;
}
