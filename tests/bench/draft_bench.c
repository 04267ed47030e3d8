// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Measures the figures of draft-elzur-iwarp-mpa-tcp-analysis-00 sections 6 and 7 (also RFC 5044 appendix B.2) with real
 * traffic.
 *
 *   draft_bench count MARKERS MSS ADDRESS PORT            receives one stream with a plain socket that announces
 *                                                         MSS; prints the number of data segments and octets
 *   draft_bench send HOW LENGTH COUNT ADDRESS PORT        sends tagged messages of LENGTH octets; HOW is `pack`,
 *                                                         `no_pack`, or `stream`: LENGTH * COUNT octets of
 *                                                         plain TCP after an MPA Request
 *   draft_bench hold CONNECTIONS HOW ADDRESS PORT         receives with the library; prints the memory in use
 *                                                         after one segment has come on each connection: HOW
 *                                                         is `whole` (one FPDU) or `half` (half an FPDU)
 *   draft_bench open CONNECTIONS HOW ADDRESS PORT         sends these segments with plain sockets
 *   draft_bench rows RUNS MORE                            converts lines of NAME MTU OURS OTHER to rows of the
 *                                                         report, after the rows of MORE
 */
#include <errno.h>
#include <json-c/json.h>
#include <malloc.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <linux/tcp.h>

#include <xiwarp/xiwarp.h>

#include "core/engine.h"
#include "tests/bench/summary.h"

#define STAG 0x1234
#define ROUNDS_MAX 101

static void __attribute__((noreturn)) die(const char *what, int err)
{
	fprintf(stderr, "draft_bench: %s: %s\n", what, strerror(err));
	exit(1);
}

static struct addrinfo *address(char **argv)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST }, *a;

	if (getaddrinfo(argv[0], argv[1], &hints, &a))
		die(argv[0], EINVAL);
	return a;
}

/* ---- segments -------------------------------------------------------------------------------------- */

static const char request[] = "MPA ID Req Frame\x40\1\0"; /* and a NUL: no Private Data */

/* The handshake of a plain socket: 20 octets of Request, then 20 of Reply. */
static void exchange(int fd, bool initiator, bool markers)
{
	char frame[20], theirs[20];

	memcpy(frame, request, sizeof(frame));
	if (initiator && send(fd, frame, sizeof(frame), MSG_NOSIGNAL) != sizeof(frame))
		die("Request", errno);
	if (recv(fd, theirs, sizeof(theirs), MSG_WAITALL) != sizeof(theirs))
		die("startup", EPROTO);
	memcpy(frame, "MPA ID Rep Frame", 16);
	frame[16] = markers ? (char)0xc0 : 0x40;
	if (!initiator && send(fd, frame, sizeof(frame), MSG_NOSIGNAL) != sizeof(frame))
		die("Reply", errno);
}

static void count(bool markers, int mss, const struct addrinfo *a)
{
	int fd = socket(a->ai_family, SOCK_STREAM, 0), one = 1;
	unsigned long long octets = 0;
	static char buf[1 << 18];
	struct tcp_info info;
	socklen_t len = sizeof(info);
	ssize_t n;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &mss, sizeof(mss)) ||
	    bind(fd, a->ai_addr, a->ai_addrlen) || listen(fd, 1))
		die("listen", errno);
	fd = accept(fd, NULL, NULL);
	if (fd < 0)
		die("accept", errno);
	exchange(fd, false, markers);
	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0)
		octets += (unsigned long long)n;
	if (n < 0 || getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		die("receive", errno);
	/* Segments that GRO joined are counted singly. The Request is one segment. */
	printf("%u %llu\n", info.tcpi_data_segs_in - 1, octets);
}

static void send_stream(uint64_t octets, const struct addrinfo *a)
{
	static const char buf[1 << 18];
	int fd = socket(a->ai_family, SOCK_STREAM, 0);
	ssize_t n;

	if (connect(fd, a->ai_addr, a->ai_addrlen))
		die("connect", errno);
	exchange(fd, true, false);
	for (; octets; octets -= (uint64_t)n) {
		n = send(fd, buf, octets < sizeof(buf) ? octets : sizeof(buf), MSG_NOSIGNAL);
		if (n < 0)
			die("send", errno);
	}
	close(fd);
}

static void queue(struct xiw_conn *conn, uint32_t length, uint64_t *left)
{
	static const char buf[1 << 16];
	struct xiw_message m = { .tagged = true, .stag = STAG, .buf = buf, .len = length };

	while (*left) {
		int err = xiw_conn_send(conn, &m);

		if (err == -EAGAIN)
			return;
		if (err)
			die("send", -err);
		--*left;
	}
	xiw_conn_close(conn);
}

static struct xiw_engine *engine(void)
{
	struct xiw_engine_opts opts = { .size = sizeof(opts),
					.app_ring_fd = -1,
					.path = XIW_USE_KERNEL };
	struct xiw_engine *e;
	int err = xiw_engine_create(&opts, &e);

	if (err)
		die("engine", -err);
	return e;
}

static void send_messages(bool no_pack, uint32_t length, uint64_t left, const struct addrinfo *a)
{
	struct xiw_conn_opts opts = { .size = sizeof(opts), .no_pack = no_pack };
	struct xiw_engine *e = engine();
	struct xiw_completion c = { 0 };
	struct timespec from, to;
	uint64_t messages = left;
	struct xiw_conn *conn;
	int err = xiw_connect(e, a->ai_addr, a->ai_addrlen, &opts, &conn);

	if (err)
		die("connect", -err);
	clock_gettime(CLOCK_MONOTONIC, &from);
	while (c.event != XIW_EV_CLOSED) {
		err = xiw_engine_run(e, -1);
		if (err < 0)
			die("engine", -err);
		while (c.event != XIW_EV_CLOSED && xiw_engine_next(e, &c))
			if ((c.event == XIW_EV_CONNECTED || c.event == XIW_EV_SENT) && left)
				queue(conn, length, &left);
	}
	if (c.status)
		die("closed", -c.status);
	clock_gettime(CLOCK_MONOTONIC, &to);
	fprintf(stderr, "%.0f messages/s\n",
		(double)messages / ((double)(to.tv_sec - from.tv_sec) +
				    (double)(to.tv_nsec - from.tv_nsec) / 1e9));
	xiw_conn_free(conn);
	xiw_engine_destroy(e);
}

/* ---- reassembly memory ----------------------------------------------------------------------------- */

#define FPDU 1460 /* fills a segment at an MTU of 1500 */

static void allow_files(unsigned int n)
{
	struct rlimit r = { n + 100, n + 100 };

	if (setrlimit(RLIMIT_NOFILE, &r))
		die("RLIMIT_NOFILE", errno);
}

/* Heap in use, and the resident part of the engine's shared receive buffers. */
static uint64_t memory(const struct xiw_engine *e)
{
	static unsigned char pages[XIW_BUFS * XIW_BUF_SIZE / 4096];
	struct mallinfo2 heap = mallinfo2();
	uint64_t octets = heap.uordblks + heap.hblkhd;
	size_t page = (size_t)sysconf(_SC_PAGESIZE), len = (size_t)XIW_BUFS * XIW_BUF_SIZE;

	if (mincore(e->io.buf_area, len, pages))
		die("mincore", errno);
	for (size_t i = 0; i < len / page; i++)
		octets += pages[i] & 1 ? page : 0;
	return octets;
}

static uint64_t stream_octets(struct xiw_conn **conns, unsigned int n)
{
	struct xiw_conn_info info;
	uint64_t octets = 0;

	for (unsigned int i = 0; i < n; i++) {
		xiw_conn_info(conns[i], &info, sizeof(info));
		octets += info.stream_kernel;
	}
	return octets;
}

static void hold(unsigned int n, uint32_t octets, const struct addrinfo *a)
{
	struct xiw_conn_opts opts = {
		.size = sizeof(opts), .queues = 1, .recv_depth = 1, .send_depth = 1
	};
	struct xiw_conn **conns = calloc(n, sizeof(*conns));
	struct xiw_region_opts region = { .size = sizeof(region), .stag = &(uint32_t){ STAG } };
	unsigned int requests = 0, open = 0;
	static uint8_t buffer[FPDU];
	struct xiw_listener *listener;
	struct xiw_engine *e;
	struct xiw_region *r;
	struct xiw_completion c;
	uint64_t before = 0;
	int err;

	allow_files(n);
	e = engine();
	if (!conns || xiw_region_register(e, buffer, sizeof(buffer), &region, &r) ||
	    xiw_listen(e, a->ai_addr, a->ai_addrlen, &opts, &listener))
		die("listen", ENOMEM);
	do {
		err = xiw_engine_run(e, 100);
		if (err < 0 && err != -EINTR)
			die("engine", -err);
		while (xiw_engine_next(e, &c)) {
			if (c.event == XIW_EV_REQUEST) {
				conns[requests++] = c.conn;
				xiw_conn_accept(c.conn, NULL, 0);
			} else if (c.event == XIW_EV_CONNECTED && ++open == n) {
				/* Nothing has come after startup: the peer waits for the last Reply. */
				before = memory(e);
			} else if (c.event == XIW_EV_CLOSED) {
				die("a connection ended", -c.status);
			}
		}
	} while (open < n || stream_octets(conns, n) < (uint64_t)n * octets);
	printf("%llu\n", (unsigned long long)(memory(e) - before));
	fflush(stdout);
	_exit(0); /* while all connections are open */
}

static void open_all(unsigned int n, bool half, const struct addrinfo *a)
{
	static uint8_t fpdu[FPDU];
	struct xiw_mpa_tx tx = { .crc = true };
	struct xiw_ddp_hdr h = { .tagged = true,
				 .last = true,
				 .dv = XIW_DDP_VERSION,
				 .len = XIW_DDP_TAGGED_LEN,
				 .stag = STAG };
	uint8_t header[XIW_DDP_HDR_MAX], payload[FPDU] = { 0 };
	size_t len = half ? FPDU / 2 : FPDU;
	int *fds = calloc(n, sizeof(*fds));

	allow_files(n);
	xiw_ddp_hdr_encode(&h, header);
	xiw_mpa_build(&tx, fpdu, header, h.len, payload, FPDU - XIW_MPA_OVERHEAD - h.len);
	for (unsigned int i = 0; i < n; i++) {
		fds[i] = socket(a->ai_family, SOCK_STREAM, 0);
		if (fds[i] < 0 || connect(fds[i], a->ai_addr, a->ai_addrlen))
			die("connect", errno);
		exchange(fds[i], true, false);
	}
	for (unsigned int i = 0; i < n; i++) {
		if (send(fds[i], fpdu, len, MSG_NOSIGNAL) != (ssize_t)len)
			die("send", errno);
		/* veth's ring holds 256 frames, and lost segments would all be resent at once. */
		if (i % 64 == 63)
			usleep(1000);
	}
	pause(); /* until the receiver closes */
}

/* ---- the report ------------------------------------------------------------------------------------ */

struct row {
	char name[64];
	int mtu, n;
	double ours[ROUNDS_MAX], other[ROUNDS_MAX], ratio[ROUNDS_MAX];
};

static const struct {
	const char *name, *unit, *draft, *included;
} texts[] = {
	{ "one_octet_packed_vs_unpacked", "segments",
	  "other / ours: about 60 at 1460 octets, 22 at 536",
	  "data segments of a long run of tagged messages of 1 octet, FPDUs of 24 octets, with "
	  "markers, without timestamps, counted by the receiver's TCP, lower is better; ours: "
	  "packed, 64 messages queued at a time; other: one FPDU in each segment" },
	{ "half_emss_packed_vs_stream", "segments", "ours / other: at most 2",
	  "data segments of a long run of FPDUs of the first length above EMSS / 2, without "
	  "markers "
	  "and timestamps, counted by the receiver's TCP, lower is better; ours: packed, where an "
	  "FPDU does not fit the message is cut to fill the segment; other: plain TCP, as many "
	  "octets" },
	{ "half_emss_unpacked_vs_stream", "segments", "ours / other: at most 2",
	  "as half_emss_packed_vs_stream, but ours: one FPDU in each segment, which is the draft's "
	  "worst case" },
	{ "reassembly_10000_connections", "octets", "ours: hundreds of KB; other: 15 MB",
	  "memory for reassembly at 10,000 connections, from all of them established to one "
	  "segment of 1460 octets taken from each, lower is better; growth of the heap and of the "
	  "resident part of the engine's receive buffers, which all connections share; not "
	  "counted: the kernel's socket buffers, and what a connection takes anyway; ours: "
	  "aligned, each segment is an FPDU; other: not aligned, each segment is half of one; both "
	  "on the kernel path, as an interface has 4096 flows if nobody asks for more" },
};

static json_object *row_object(struct row *r)
{
	json_object *o = json_object_new_object(), *spread = json_object_new_object();
	double ours = summarize(r->ours, r->n, "ours", spread);
	double other = summarize(r->other, r->n, "other", spread);
	size_t t = 0;

	summarize(r->ratio, r->n, "ratio", spread);
	while (t < sizeof(texts) / sizeof(texts[0]) && strcmp(texts[t].name, r->name))
		t++;
	if (t == sizeof(texts) / sizeof(texts[0]))
		die(r->name, EINVAL);
	json_object_object_add(o, "name", json_object_new_string(r->name));
	json_object_object_add(o, "mtu", json_object_new_int(r->mtu));
	json_object_object_add(o, "region_mib", json_object_new_int(0));
	json_object_object_add(o, "unit", json_object_new_string(texts[t].unit));
	json_object_object_add(o, "ours", json_object_new_double(ours));
	json_object_object_add(o, "other", json_object_new_double(other));
	json_object_object_add(o, "ratio", json_object_new_double(ours / other));
	json_object_object_add(o, "spread", spread);
	json_object_object_add(o, "runs", json_object_new_int(r->n));
	json_object_object_add(o, "draft", json_object_new_string(texts[t].draft));
	json_object_object_add(o, "included", json_object_new_string(texts[t].included));
	return o;
}

static void rows(const char *path, const char *more)
{
	static struct row all[16];
	json_object *list = json_object_from_file(more);
	FILE *f = fopen(path, "r");
	double ours, other;
	char name[64];
	int mtu, n = 0, i;

	if (!f || !json_object_is_type(list, json_type_array))
		die(path, EINVAL);
	while (fscanf(f, "%63s %d %lf %lf", name, &mtu, &ours, &other) == 4) {
		for (i = 0; i < n && (strcmp(all[i].name, name) || all[i].mtu != mtu); i++)
			;
		if (i == 16 || all[i].n == ROUNDS_MAX)
			die(path, E2BIG);
		n += i == n;
		strcpy(all[i].name, name);
		all[i].mtu = mtu;
		all[i].ours[all[i].n] = ours;
		all[i].other[all[i].n] = other;
		all[i].ratio[all[i].n++] = ours / other;
	}
	fclose(f);
	for (i = 0; i < n; i++)
		json_object_array_add(list, row_object(&all[i]));
	puts(json_object_to_json_string_ext(list, JSON_C_TO_STRING_PRETTY));
	json_object_put(list);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	char **last = argv + argc - 2;

	if (!strcmp(what, "count") && argc == 6) {
		count(atoi(argv[2]), atoi(argv[3]), address(last));
	} else if (!strcmp(what, "send") && argc == 7) {
		uint64_t length = strtoull(argv[3], NULL, 0), n = strtoull(argv[4], NULL, 0);

		if (!strcmp(argv[2], "stream"))
			send_stream(length * n, address(last));
		else
			send_messages(!strcmp(argv[2], "no_pack"), (uint32_t)length, n,
				      address(last));
	} else if (!strcmp(what, "hold") && argc == 6) {
		hold((unsigned int)atoi(argv[2]), !strcmp(argv[3], "half") ? FPDU / 2 : FPDU,
		     address(last));
	} else if (!strcmp(what, "open") && argc == 6) {
		open_all((unsigned int)atoi(argv[2]), !strcmp(argv[3], "half"), address(last));
	} else if (!strcmp(what, "rows") && argc == 4) {
		rows(argv[2], argv[3]);
	} else {
		fprintf(stderr,
			"usage: draft_bench count|send|hold|open|rows ...: see its source\n");
		return 2;
	}
	return 0;
}
