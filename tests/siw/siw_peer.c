// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * An application on verbs and rdma_cm, for Linux's siw as the other end in vmtest's scenarios.
 *
 *   siw_peer connect ADDRESS PORT KEY=VALUE...   RDMA Writes to STag `stag`, from TO `to` on
 *   siw_peer listen ADDRESS PORT KEY=VALUE...    a region that one peer may write to and read from. Where it is
 *                                                is told as Private Data: TO 8, STag 4, octets 4, big endian
 *
 *   file=PATH    what is written; else `octets=N` of a pattern
 *   chunk=N      octets of each RDMA Write; 65536
 *   signalled=0  no completions but one in 16 Writes, of a Write of no octets: siw then sends large ones without
 *                copying them
 *   wait=1       leave it to the other end to end the connection
 *   equal=N      listen: in the end, so many of the region's octets must be the pattern
 *
 * Tells what it is told: `cm EVENT STATUS`, `async EVENT`, `wc STATUS`, and at the end how many completions were
 * successful. Exit codes: 0 connected, and the connection has ended; 1 not so; 2 usage.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>

#include "tests/net/lib/octets.h"

#define DEPTH 64
#define RECVS 4
#define REGION (1u << 20)
#define PATIENCE_S 20
#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

static struct {
	uint64_t stag, to, octets, chunk, signalled, wait, equal;
	const char *file;

	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *buf;
	size_t size;
	uint64_t posted, completed, failed; /* that have a completion */
	enum rdma_cm_event_type last;
	bool ended;
} s = { .octets = 64, .chunk = 65536, .signalled = 1 };

static void __attribute__((noreturn)) die(const char *what)
{
	printf("%s: %s\n", what, strerror(errno));
	exit(1);
}

/* ---- what is told ---------------------------------------------------------------------------- */

/* The next event of the connection manager, if one comes in time; its id if it is a request's. */
static bool cm_event(int ms, struct rdma_cm_id **id)
{
	struct pollfd p = { .fd = s.channel->fd, .events = POLLIN };
	struct rdma_cm_event *ev;

	if (poll(&p, 1, ms) != 1 || rdma_get_cm_event(s.channel, &ev))
		return false;
	printf("cm %s %d\n", rdma_event_str(ev->event), ev->status);
	s.last = ev->event;
	if (s.last == RDMA_CM_EVENT_DISCONNECTED || s.last == RDMA_CM_EVENT_DEVICE_REMOVAL)
		s.ended = true;
	if (id)
		*id = ev->id;
	rdma_ack_cm_event(ev);
	return true;
}

static void await(enum rdma_cm_event_type type, struct rdma_cm_id **id)
{
	const char *stretch = getenv("XIW_PATIENCE");

	errno = ETIMEDOUT;
	if (!cm_event(PATIENCE_S * 1000 * (stretch ? atoi(stretch) : 1), id) || s.last != type)
		die(rdma_event_str(type));
}

static void async_event(void)
{
	struct pollfd p = { .fd = s.id->verbs->async_fd, .events = POLLIN };
	struct ibv_async_event ev;

	if (poll(&p, 1, 0) != 1 || ibv_get_async_event(s.id->verbs, &ev))
		return;
	printf("async %s\n", ibv_event_type_str(ev.event_type));
	ibv_ack_async_event(&ev);
}

/* All that is to be told, within this time. */
static void look(int ms)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(s.cq, 1, &wc) == 1) {
		s.completed++;
		if (wc.status == IBV_WC_SUCCESS)
			continue;
		s.failed++;
		printf("wc %s\n", ibv_wc_status_str(wc.status));
	}
	async_event();
	cm_event(ms, NULL);
	fflush(stdout);
}

/* ---- a connection ---------------------------------------------------------------------------- */

static void open_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = DEPTH,
			 .max_recv_wr = RECVS,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	s.id = id;
	s.cq = ibv_create_cq(id->verbs, 4 * DEPTH, NULL, NULL, 0);
	attr.send_cq = attr.recv_cq = s.cq;
	if (!s.cq || rdma_create_qp(id, NULL, &attr))
		die("rdma_create_qp");
	s.mr = ibv_reg_mr(id->pd, s.buf, s.size, ACCESS);
	if (!s.mr)
		die("ibv_reg_mr");
}

static void connect_to(struct sockaddr *to)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1 };
	struct rdma_cm_id *id;

	if (rdma_create_id(s.channel, &id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(id, NULL, to, 5000))
		die("rdma_resolve_addr");
	await(RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
	if (rdma_resolve_route(id, 5000))
		die("rdma_resolve_route");
	await(RDMA_CM_EVENT_ROUTE_RESOLVED, NULL);
	open_qp(id);
	if (rdma_connect(id, &param))
		die("rdma_connect");
	await(RDMA_CM_EVENT_ESTABLISHED, NULL);
}

static void accept_from(struct sockaddr *at)
{
	uint8_t where[16];
	struct rdma_conn_param param = {
		.responder_resources = 1,
		.initiator_depth = 1,
		.private_data = where,
		.private_data_len = sizeof(where),
	};
	struct rdma_cm_id *listener, *id = NULL;
	uint64_t to = (uintptr_t)s.buf;

	if (rdma_create_id(s.channel, &listener, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(listener, at) || rdma_listen(listener, 1))
		die("rdma_listen");
	printf("listening\n");
	fflush(stdout);
	await(RDMA_CM_EVENT_CONNECT_REQUEST, &id);
	open_qp(id);
	for (int i = 0; i < 8; i++)
		where[i] = (uint8_t)(to >> 8 * (7 - i));
	memcpy(where + 8, &(uint32_t){ htonl(s.mr->rkey) }, 4);
	memcpy(where + 12, &(uint32_t){ htonl((uint32_t)s.size) }, 4);
	if (rdma_accept(id, &param))
		die("rdma_accept");
	await(RDMA_CM_EVENT_ESTABLISHED, NULL);
}

static int post(uint64_t at, uint64_t len, bool signalled)
{
	struct ibv_sge sge = { .addr = (uintptr_t)s.buf + at,
			       .length = (uint32_t)len,
			       .lkey = s.mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = len ? 1 : 0,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = signalled ? IBV_SEND_SIGNALED : 0,
		.wr.rdma = { .remote_addr = s.to + at, .rkey = (uint32_t)s.stag },
	};
	int err;

	/* Full, of which siw's library says -ENOMEM: wait for completions. */
	while (abs(err = ibv_post_send(s.id->qp, &wr, &bad)) == ENOMEM && !s.ended)
		look(1);
	if (err)
		printf("post %s\n", strerror(abs(err)));
	else
		s.posted += signalled;
	return err;
}

static void write_all(void)
{
	uint64_t at = 0, n = 0;

	while (at < s.size && !s.ended) {
		const uint64_t len = s.size - at < s.chunk ? s.size - at : s.chunk;

		if (post(at, len, s.signalled))
			break;
		at += len;
		if (!s.signalled && (++n % 16 == 0 || at == s.size) && post(at, 0, true))
			break;
		look(0);
	}
	while (s.completed < s.posted && !s.ended)
		look(10);
}

/* ---- run ------------------------------------------------------------------------------------- */

/* What is written, or where the peer is to write to. */
static void fill(bool listens)
{
	struct stat st = {};
	int fd = s.file ? open(s.file, O_RDONLY) : -1;

	if (s.file && (fd < 0 || fstat(fd, &st)))
		die(s.file);
	s.size = s.file ? (size_t)st.st_size : listens ? REGION : (size_t)s.octets;
	s.buf = aligned_alloc(4096, (s.size + 4095) & ~(size_t)4095);
	if (!s.buf)
		die("memory");
	if (s.file && read(fd, s.buf, s.size) != (ssize_t)s.size)
		die(s.file);
	for (size_t i = 0; !s.file && i < s.size; i++)
		s.buf[i] = listens ? 0xee : octet(i);
	if (fd >= 0)
		close(fd);
}

static bool option(const char *word)
{
	const struct {
		const char *name;
		uint64_t *value;
	} numbers[] = { { "stag=", &s.stag },	  { "to=", &s.to },
			{ "octets=", &s.octets }, { "chunk=", &s.chunk },
			{ "wait=", &s.wait },	  { "signalled=", &s.signalled },
			{ "equal=", &s.equal } };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		const size_t n = strlen(numbers[i].name);

		if (strncmp(word, numbers[i].name, n))
			continue;
		*numbers[i].value = strtoull(word + n, NULL, 0);
		return true;
	}
	if (strncmp(word, "file=", 5))
		return false;
	s.file = word + 5;
	return true;
}

int main(int argc, char **argv)
{
	struct rdma_addrinfo *ai, hints = { .ai_port_space = RDMA_PS_TCP };
	const bool listens = argc > 3 && !strcmp(argv[1], "listen");
	uint64_t equal = 0;

	if (argc < 4 || (!listens && strcmp(argv[1], "connect")))
		goto usage;
	for (int i = 4; i < argc; i++)
		if (!option(argv[i]))
			goto usage;
	fill(listens);
	s.channel = rdma_create_event_channel();
	if (!s.channel || rdma_getaddrinfo(argv[2], argv[3], &hints, &ai))
		die(argv[2]);
	if (listens) {
		accept_from(ai->ai_dst_addr);
	} else {
		connect_to(ai->ai_dst_addr);
		write_all();
		if (!s.wait && !s.ended && rdma_disconnect(s.id))
			die("rdma_disconnect");
	}
	while (!s.ended)
		look(50);
	/* What comes with it, or is flushed then. */
	for (int i = 0; i < 20; i++)
		look(10);
	while (equal < s.size && s.buf[equal] == octet(equal))
		equal++;
	printf("completions %llu of %llu, failed %llu", (unsigned long long)s.completed,
	       (unsigned long long)s.posted, (unsigned long long)s.failed);
	if (listens)
		printf("; octets as they should be %llu", (unsigned long long)equal);
	printf("\n");
	return (listens && equal != s.equal) || (!s.wait && s.failed);
usage:
	fprintf(stderr, "usage: siw_peer connect|listen ADDRESS PORT KEY=VALUE...\n");
	return 2;
}
