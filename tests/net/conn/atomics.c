// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Atomic operations of many on one word (RFC 7306 section 5.3): connections of two engines, each with a thread, and an
 * application that uses the processor's own. Each value that a counter passes is found by one of them, and only one.
 *
 *   atomics serve PORT FILE          the word, in FILE: two engines, on PORT and the next one, and an application
 *   atomics run ADDRESS PORT FILE    the connections, half of them to each engine
 *   atomics check FILE               afterwards: is every value found once?
 *
 * Exit codes: 0, 1 something went wrong, 2 usage.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xiwarp/xiwarp.h>

#include "tests/net/lib/common.h"

enum { ENGINES = 2, CONNS = 8, ADDS = 1000, SWAPS = 40, HALVES = 100, OWN = 2000, WINDOW = 6 };
enum { TOTAL = CONNS * (ADDS + SWAPS) + OWN, STAG = 0x1234, BASE = 0x1000 };
#define FIRST_HALVES                                                                               \
	0x00000000ffffff80ull /* the lower half overflows, the upper one does not notice */
#define PATIENCE_MS 60000

/* In the file, which both processes share. */
struct words {
	uint64_t count;	 /* from 0 to TOTAL */
	uint64_t halves; /* two counters */
	uint8_t found[TOTAL];
};

static struct words *words;

static void open_words(const char *file, bool make)
{
	int fd = open(file, O_RDWR | O_CLOEXEC | (make ? O_CREAT | O_TRUNC : 0), 0600);

	if (fd < 0 || (make && ftruncate(fd, sizeof(*words))))
		die_errno(file);
	words = mmap(NULL, sizeof(*words), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (words == MAP_FAILED)
		die_errno(file);
	close(fd);
	if (make)
		words->halves = FIRST_HALVES;
}

static void found(uint64_t value)
{
	if (value >= TOTAL)
		die("the counter was %llu", (unsigned long long)value);
	__atomic_fetch_add(&words->found[value], 1, __ATOMIC_RELAXED);
}

/* ---- the word ------------------------------------------------------------------------------------ */

static int gone; /* connections that are closed */

static void serve_one(struct xiw_completion *c)
{
	const struct xiw_rdma_opts o = { .size = sizeof(o), .extended = true };
	struct xiw_conn_info info;
	struct xiw_rdma *rdma;

	switch (c->event) {
	case XIW_EV_REQUEST:
		if (xiw_rdma_attach(c->conn, &o, &rdma) || xiw_conn_accept(c->conn, NULL, 0))
			die("no stream");
		break;
	case XIW_EV_EOF:
		xiw_conn_close(c->conn);
		break;
	case XIW_EV_CLOSED:
		xiw_conn_info(c->conn, &info, sizeof(info));
		printf("status=%d direct=%d\n", c->status, info.went_direct > 0);
		xiw_conn_free(c->conn);
		__atomic_fetch_add(&gone, 1, __ATOMIC_SEQ_CST);
		break;
	default:
		break;
	}
}

static void *serve_engine(void *arg)
{
	const struct sockaddr_in a = { .sin_family = AF_INET,
				       .sin_port = htons((uint16_t)(uintptr_t)arg) };
	const struct xiw_conn_opts o = { .size = sizeof(o) };
	const uint32_t stag = STAG;
	const struct xiw_region_opts r = {
		.size = sizeof(r), .base_to = BASE, .stag = &stag, .access = XIW_ACCESS_ATOMIC
	};
	struct xiw_listener *listener;
	struct xiw_region *region;
	struct xiw_completion c;
	struct xiw_engine *e;

	if (xiw_engine_create(NULL, &e) || xiw_region_register(e, words, 16, &r, &region) ||
	    xiw_listen(e, (const struct sockaddr *)&a, sizeof(a), &o, &listener))
		die("no engine");
	while (__atomic_load_n(&gone, __ATOMIC_SEQ_CST) < CONNS) {
		xiw_engine_run(e, 20);
		while (xiw_engine_next(e, &c) > 0)
			serve_one(&c);
	}
	xiw_listener_free(listener);
	xiw_region_free(region);
	xiw_engine_destroy(e);
	return NULL;
}

/* Between what the connections do: one step whenever the counter has moved. */
static void serve(int port)
{
	pthread_t threads[ENGINES];
	uint64_t last = 0;

	for (int i = 0; i < ENGINES; i++)
		if (pthread_create(&threads[i], NULL, serve_engine, (void *)(uintptr_t)(port + i)))
			die("no thread");
	for (int i = 0; i < OWN; i++) {
		while (__atomic_load_n(&words->count, __ATOMIC_SEQ_CST) == last &&
		       __atomic_load_n(&gone, __ATOMIC_SEQ_CST) < CONNS)
			sched_yield();
		last = __atomic_fetch_add(&words->count, 1, __ATOMIC_SEQ_CST);
		found(last++);
	}
	for (int i = 0; i < ENGINES; i++)
		pthread_join(threads[i], NULL);
}

/* ---- the connections ----------------------------------------------------------------------------- */

enum { ADD, SWAP, HALF };

static struct client {
	struct xiw_rdma *rdma;
	int adds, swaps, halves, open; /* left to post; operations that are not complete */
	uint64_t guess;
	bool swapping, closed;
} clients[CONNS];

static void post(struct client *k, enum xiw_rdma_kind kind, uint64_t what,
		 const struct xiw_rdma_atomic *operands)
{
	const struct xiw_rdma_op op = { .kind = kind,
					.atomic = operands,
					.stag = STAG,
					.to = BASE + (what == HALF ? 8 : 0),
					.user_data = (uint64_t)(k - clients) << 8 | what };
	int err = xiw_rdma_post(k->rdma, &op);

	if (err)
		die("post: %d", err);
	k->open++;
}

static void go_on(struct client *k)
{
	static const struct xiw_rdma_atomic one = { .value = 1 };
	static const struct xiw_rdma_atomic both = { .value = 1ull << 32 | 1, .mask = 1ull << 31 };
	const struct xiw_rdma_atomic next = { .value = k->guess + 1,
					      .mask = UINT64_MAX,
					      .compare = k->guess,
					      .compare_mask = UINT64_MAX };

	if (k->swaps && !k->swapping) {
		k->swapping = true;
		post(k, XIW_RDMA_CMP_SWAP, SWAP, &next);
	}
	for (; k->adds && k->open < WINDOW; k->adds--)
		post(k, XIW_RDMA_FETCH_ADD, ADD, &one);
	for (; k->halves && k->open < WINDOW; k->halves--)
		post(k, XIW_RDMA_FETCH_ADD, HALF, &both);
	if (!k->open)
		xiw_rdma_close(k->rdma);
}

static void complete(const struct xiw_completion *c)
{
	struct client *k = &clients[c->user_data >> 8];

	k->open--;
	switch (c->user_data & 0xff) {
	case ADD:
		found(c->value);
		break;
	case SWAP:
		k->swapping = false;
		if (c->value == k->guess) {
			found(k->guess++);
			k->swaps--;
		} else {
			k->guess = c->value;
		}
		break;
	default:
		break;
	}
	go_on(k);
}

static int run_one(const struct xiw_completion *c)
{
	switch (c->event) {
	case XIW_EV_CONNECTED:
		go_on(&clients[c->user_data >> 8]);
		return 0;
	case XIW_EV_ATOMIC:
		complete(c);
		return 0;
	case XIW_EV_CLOSED:
		if (c->status)
			die("a connection ended with %d", c->status);
		xiw_conn_free(c->conn);
		return 1;
	case XIW_EV_EOF:
		return 0;
	default:
		die("event %d, status %d", c->event, c->status);
	}
}

static void run(const char *address, int port)
{
	const struct xiw_rdma_opts ro = { .size = sizeof(ro), .extended = true };
	struct sockaddr_in a = { .sin_family = AF_INET };
	const uint64_t until = now_ms() + PATIENCE_MS;
	struct xiw_completion c;
	struct xiw_engine *e;
	int closed = 0;

	if (inet_pton(AF_INET, address, &a.sin_addr) != 1 || xiw_engine_create(NULL, &e))
		die("no engine");
	for (int i = 0; i < CONNS; i++) {
		const struct xiw_conn_opts o = { .size = sizeof(o), .user_data = (uint64_t)i << 8 };
		struct xiw_conn *conn;

		clients[i] = (struct client){ .adds = ADDS, .swaps = SWAPS, .halves = HALVES };
		a.sin_port = htons((uint16_t)(port + i % ENGINES));
		if (xiw_connect(e, (struct sockaddr *)&a, sizeof(a), &o, &conn) ||
		    xiw_rdma_attach(conn, &ro, &clients[i].rdma))
			die("no connection");
	}
	while (closed < CONNS && now_ms() < until) {
		xiw_engine_run(e, 20);
		while (xiw_engine_next(e, &c) > 0)
			closed += run_one(&c);
	}
	if (closed < CONNS)
		die("%d of %d connections are done", closed, CONNS);
	xiw_engine_destroy(e);
}

/* ---- afterwards ---------------------------------------------------------------------------------- */

static void check(void)
{
	const uint32_t steps = CONNS * HALVES;
	const uint64_t halves = (uint64_t)steps << 32 | (uint32_t)(FIRST_HALVES + steps);

	if (words->count != TOTAL)
		die("the counter is %llu, not %d", (unsigned long long)words->count, TOTAL);
	if (words->halves != halves)
		die("the halves are %llx, not %llx", (unsigned long long)words->halves,
		    (unsigned long long)halves);
	for (int i = 0; i < TOTAL; i++)
		if (words->found[i] != 1)
			die("%d was found %d times", i, words->found[i]);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (argc == 4 && !strcmp(what, "serve")) {
		open_words(argv[3], true);
		serve(atoi(argv[2]));
	} else if (argc == 5 && !strcmp(what, "run")) {
		open_words(argv[4], false);
		run(argv[2], atoi(argv[3]));
	} else if (argc == 3 && !strcmp(what, "check")) {
		open_words(argv[2], false);
		check();
	} else {
		fprintf(stderr,
			"usage: atomics serve PORT FILE | run ADDRESS PORT FILE | check FILE\n");
		return 2;
	}
	return 0;
}
