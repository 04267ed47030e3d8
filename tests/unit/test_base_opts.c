// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Programs older and newer than the library, by the rules for option structures in xiwarp/xiwarp.h. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xiwarp/xiwarp.h>

#include "base/opts.h"

TestSuite(base_opts);

struct one {
	size_t size;
	uint32_t a, b;
};

/* Options of the next release. */
struct two {
	size_t size;
	uint32_t a, b;
	uint64_t c;
};

/* Not inlined: otherwise the compiler would know the size of the structure. */
static int (*volatile take)(void *, size_t, size_t, const void *) = xiw_opts_take;

Test(base_opts, helper)
{
	struct two ours, theirs = { .size = sizeof(theirs), .a = 1, .b = 2, .c = 3 };
	struct one old = { .size = sizeof(old), .a = 4, .b = 5 }, own;

	cr_expect(!take(&ours, sizeof(ours), sizeof(old), &theirs));
	cr_expect(ours.size == sizeof(ours) && ours.a == 1 && ours.b == 2 && ours.c == 3);
	memset(&ours, 0xff, sizeof(ours));
	cr_expect(!take(&ours, sizeof(ours), sizeof(old), &old), "an older caller");
	cr_expect(ours.size == sizeof(ours) && ours.a == 4 && ours.b == 5 && !ours.c);
	cr_expect_eq(take(&own, sizeof(own), sizeof(old), &theirs), -EINVAL,
		     "a newer caller that uses a new member");
	theirs.c = 0;
	cr_expect(!take(&own, sizeof(own), sizeof(old), &theirs), "a newer caller that does not");
	cr_expect(own.size == sizeof(own) && own.a == 1 && own.b == 2);
	cr_expect(!take(&ours, sizeof(ours), sizeof(old), NULL));
	cr_expect(ours.size == sizeof(ours) && !ours.a && !ours.b && !ours.c);
	for (size_t size = 0; size < sizeof(old); size++) {
		old.size = size;
		cr_expect_eq(take(&ours, sizeof(ours), sizeof(old), &old), -EINVAL);
	}
	old.size = SIZE_MAX;
	cr_expect_eq(take(&ours, sizeof(ours), sizeof(old), &old), -EINVAL);
}

Test(base_opts, filled_in)
{
	const struct two own = { .size = sizeof(own), .a = 1, .b = 2, .c = 3 };
	uint8_t room[sizeof(own) + 9], zeros[sizeof(room)] = {};

	memset(room, 0xff, sizeof(room));
	xiw_opts_give(room, 12, &own, sizeof(own));
	cr_expect(!memcmp(room, &own, 12) && room[12] == 0xff);
	xiw_opts_give(room, sizeof(room), &own, sizeof(own));
	cr_expect(!memcmp(room, &own, sizeof(own)) && !memcmp(room + sizeof(own), zeros, 9));
}

/* ---- each function ------------------------------------------------------------------------------- */

static struct xiw_engine *engine;
static uint8_t memory[4096];

static void setup(void)
{
	const struct xiw_engine_opts o = { .size = sizeof(o), .path = XIW_USE_KERNEL };

	cr_assert_eq(xiw_engine_create(&o, &engine), 0);
}

static void teardown(void)
{
	xiw_engine_destroy(engine);
}

TestSuite(api_opts, .init = setup, .fini = teardown);

static const struct sockaddr_in local = { .sin_family = AF_INET, .sin_addr.s_addr = 0x0100007f };

static int create(const void *opts)
{
	struct xiw_engine *e;
	int err = xiw_engine_create(opts, &e);

	if (!err)
		xiw_engine_destroy(e);
	return err;
}

static int listens(const void *opts)
{
	struct xiw_listener *l;
	int err = xiw_listen(engine, (const struct sockaddr *)&local, sizeof(local), opts, &l);

	if (!err)
		xiw_listener_free(l);
	return err;
}

static int connects(const void *opts)
{
	struct sockaddr_in to = local;
	struct xiw_conn *c;
	int err;

	to.sin_port = htons(9);
	err = xiw_connect(engine, (struct sockaddr *)&to, sizeof(to), opts, &c);
	if (!err)
		xiw_conn_free(c);
	return err;
}

static int attach(const void *opts)
{
	struct sockaddr_in to = local;
	struct xiw_rdma *r;
	struct xiw_conn *c;
	int err;

	to.sin_port = htons(9);
	cr_assert_eq(xiw_connect(engine, (struct sockaddr *)&to, sizeof(to), NULL, &c), 0);
	err = xiw_rdma_attach(c, opts, &r);
	xiw_conn_free(c);
	return err;
}

static int registers(const void *opts)
{
	struct xiw_region *r;
	int err = xiw_region_register(engine, memory, sizeof(memory), opts, &r);

	if (!err)
		xiw_region_free(r);
	return err;
}

/* With correct options the call gets as far as the socket. */
static int upgrade(const void *opts)
{
	struct xiw_conn *c;
	int err = xiw_conn_from_fd(engine, -1, true, NULL, opts, &c);

	return err == -EBADF ? 0 : err;
}

/* Or as far as the interface. */
static int load(const void *opts)
{
	int err = xiw_load("xiw-not-there", opts, NULL, 0);

	return err == -ENODEV ? 0 : err;
}

static const struct {
	const char *name;
	int (*call)(const void *opts);
	size_t size;
} takers[] = {
	{ "xiw_engine_create", create, sizeof(struct xiw_engine_opts) },
	{ "xiw_listen", listens, sizeof(struct xiw_conn_opts) },
	{ "xiw_connect", connects, sizeof(struct xiw_conn_opts) },
	{ "xiw_rdma_attach", attach, sizeof(struct xiw_rdma_opts) },
	{ "xiw_region_register", registers, sizeof(struct xiw_region_opts) },
	{ "xiw_conn_from_fd", upgrade, sizeof(struct xiw_upgrade) },
	{ "xiw_load", load, sizeof(struct xiw_load_opts) },
};

/* The same size; longer; longer, with a value in an unknown member; and sizes that never existed. */
Test(api_opts, sizes)
{
	for (size_t i = 0; i < sizeof(takers) / sizeof(*takers); i++) {
		const size_t size = takers[i].size;
		uint64_t opts[64];

		cr_assert(size + 16 < sizeof(opts));
		memset(opts, 0, sizeof(opts));
		cr_expect_eq(takers[i].call(NULL), 0, "%s: NULL", takers[i].name);
		cr_expect_eq(takers[i].call(opts), -EINVAL, "%s: size 0", takers[i].name);
		opts[0] = size;
		cr_expect_eq(takers[i].call(opts), 0, "%s: its own size", takers[i].name);
		opts[0] = size + 16;
		cr_expect_eq(takers[i].call(opts), 0, "%s: newer", takers[i].name);
		opts[size / 8 + 1] = 1;
		cr_expect_eq(takers[i].call(opts), -EINVAL, "%s: newer, and uses it",
			     takers[i].name);
		opts[0] = sizeof(size_t);
		cr_expect_eq(takers[i].call(opts), -EINVAL, "%s: too short", takers[i].name);
		opts[0] = SIZE_MAX;
		cr_expect_eq(takers[i].call(opts), -EINVAL, "%s: absurd", takers[i].name);
	}
}

/* A program built with the headers of the first release: no octet beyond its smaller structures is read. */
Test(api_opts, first_release)
{
	static const size_t first[] = { 48, 80, 80, 16, 40, 40, 24 };

	for (size_t i = 0; i < sizeof(takers) / sizeof(*takers); i++) {
		uint64_t *opts = calloc(1, first[i]);

		cr_assert(opts);
		cr_expect(first[i] <= takers[i].size, "%s", takers[i].name);
		opts[0] = first[i];
		cr_expect_eq(takers[i].call(opts), 0, "%s", takers[i].name);
		free(opts);
	}
}

#define EXPECT_REFUSED(call, type, ...)                                                            \
	do {                                                                                       \
		struct type o = { .size = sizeof(o), __VA_ARGS__ };                                \
		cr_expect_eq(call(&o), -EINVAL, "%s", #__VA_ARGS__);                               \
	} while (0)

Test(api_opts, unknown_flags_and_values)
{
	EXPECT_REFUSED(create, xiw_engine_opts, .flags = 0x80);
	EXPECT_REFUSED(create, xiw_engine_opts, .path = 3);
	EXPECT_REFUSED(create, xiw_engine_opts, .reserved = 1);
	EXPECT_REFUSED(create, xiw_engine_opts, .reserved_end = 1);
	EXPECT_REFUSED(listens, xiw_conn_opts, .path = 3);
	EXPECT_REFUSED(connects, xiw_conn_opts, .path = 3);
	EXPECT_REFUSED(connects, xiw_conn_opts, .rtr = 16);
	EXPECT_REFUSED(connects, xiw_conn_opts, .rtr = XIW_RTR_NONE | XIW_RTR_WRITE);
	EXPECT_REFUSED(listens, xiw_conn_opts, .rtr = XIW_RTR_NONE);
	EXPECT_REFUSED(connects, xiw_conn_opts, .revision = 3);
	EXPECT_REFUSED(connects, xiw_conn_opts, .hold_ms = XIW_NO_LIMIT);
	EXPECT_REFUSED(connects, xiw_conn_opts, .reserved1 = 1);
	EXPECT_REFUSED(connects, xiw_conn_opts, .reserved = 1);
	EXPECT_REFUSED(registers, xiw_region_opts, .access = 32);
	EXPECT_REFUSED(load, xiw_load_opts, .mode = 3);
	EXPECT_REFUSED(load, xiw_load_opts, .reserved = { 1 });
	EXPECT_REFUSED(load, xiw_load_opts, .reserved2 = 1);
	EXPECT_REFUSED(load, xiw_load_opts, .flows = XIW_MAX_FLOWS + 1);
}

/* Options that fit no connection are refused when the listener is made, not for each peer. */
Test(api_opts, listener_sizes)
{
	static int (*const call[])(const void *opts) = { listens, connects };

	for (int i = 0; i < 2; i++) {
		EXPECT_REFUSED(call[i], xiw_conn_opts, .queues = XIW_QUEUES_MAX + 1);
		EXPECT_REFUSED(call[i], xiw_conn_opts, .recv_depth = XIW_QUEUE_DEPTH_MAX + 1);
		EXPECT_REFUSED(call[i], xiw_conn_opts, .send_depth = XIW_QUEUE_DEPTH_MAX + 1);
		EXPECT_REFUSED(call[i], xiw_conn_opts, .queues = XIW_QUEUES_MAX,
			       .recv_depth = XIW_QUEUE_DEPTHS_MAX / XIW_QUEUES_MAX + 1);
	}

	struct xiw_conn_opts o = { .size = sizeof(o), .queues = XIW_QUEUES_MAX };

	cr_expect_eq(listens(&o), 0);
	cr_expect_eq(connects(&o), 0);
}

Test(api_opts, infos)
{
	struct sockaddr_in to = local;
	uint8_t big[sizeof(struct xiw_conn_info) + 64], zeros[64] = {};
	struct xiw_conn_info small;
	struct xiw_rdma *r;
	struct xiw_conn *c;

	to.sin_port = htons(9);
	cr_assert_eq(xiw_connect(engine, (struct sockaddr *)&to, sizeof(to), NULL, &c), 0);
	cr_assert_eq(xiw_rdma_attach(c, NULL, &r), 0);
	memset(big, 0xff, sizeof(big));
	xiw_conn_info(c, (void *)big, sizeof(big));
	cr_expect(!memcmp(big + sizeof(small), zeros, 64));
	memset(big, 0xff, sizeof(big));
	xiw_rdma_info(r, (void *)big, sizeof(struct xiw_rdma_info) + 64);
	cr_expect(!memcmp(big + sizeof(struct xiw_rdma_info), zeros, 64));
	cr_expect(big[sizeof(struct xiw_rdma_info) + 64] == 0xff);
	memset(&small, 0xff, sizeof(small));
	xiw_conn_info(c, &small, 8);
	cr_expect(small.path == XIW_PATH_NONE && (uint8_t)small.no_direct[4] == 0xff);
	xiw_conn_free(c);
}
