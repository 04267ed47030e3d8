// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Cases of objects.c: objects that outlive their engine. */
#include "tests/net/conn/objects.h"

#include <errno.h>
#include <unistd.h>

/* A connection that works, one that is over, one that is rejected, one to be answered, and one nobody has heard of. */
static bool open_five(int fd[5])
{
	for (int i = 0; i < 2; i++)
		CHECK((fd[i] = open_peer()) >= 0);
	reset(fd[1]);
	UNTIL(seen[1].closed);
	hold_answers = true;
	for (int i = 2; i < 4; i++) {
		fd[i] = dial();
		request(fd[i]);
		UNTIL(nseen == (unsigned int)i + 1);
	}
	hold_answers = false;
	CHECK(!xiw_conn_reject(seen[2].conn, NULL, 0));
	UNTIL(seen[2].closed);
	fd[4] = dial();
	request(fd[4]);
	for (int i = 0; i < 20; i++)
		xiw_engine_run(engine, 1);
	return true;
}

/* A connection answers behind its engine: nothing is possible any more. */
static bool answers(struct xiw_conn *c, int error)
{
	struct xiw_message m = { .buf = memory, .len = 1, .tagged = true };
	struct xiw_conn_info info;
	struct xiw_rdma *rdma;

	xiw_conn_info(c, &info, sizeof(info));
	CHECK(info.error == error);
	CHECK(xiw_conn_send(c, &m) < 0);
	CHECK(xiw_conn_post_recv(c, 0, memory, 1, 0) == -ESHUTDOWN);
	CHECK(xiw_conn_accept(c, NULL, 0) == -ENOTCONN);
	CHECK(xiw_conn_take_fd(c) == -ENOTCONN);
	CHECK(xiw_rdma_attach(c, NULL, &rdma) == -ENOTCONN);
	CHECK(xiw_conn_private_data(c, NULL));
	xiw_conn_abort(c);
	CHECK(!xiw_conn_close(c));
	return true;
}

/* The engine goes before connections, a listener and regions, which are then freed in another order. */
static bool engine_first(void)
{
	static const int errors[] = { ECONNABORTED, ECONNRESET, ECONNREFUSED, ECONNABORTED,
				      ECONNABORTED };
	struct xiw_region_opts ro = { .size = sizeof(ro) };
	struct sockaddr_storage addr;
	struct xiw_region *other;
	socklen_t len;
	int fd[5];

	CHECK(!xiw_region_register(engine, memory, SIZE, &ro, &other));
	CHECK(open_five(fd));
	CHECK(!xiw_engine_destroy(engine));
	engine = NULL;
	CHECK(xiw_region_set_access(other, XIW_ACCESS_READ) == -ENOENT);
	xiw_region_free(other);
	CHECK(xiw_listener_addr(listener, &addr, &len) == -EBADF);
	for (unsigned int i = 0; i < nseen; i++)
		CHECK(answers(seen[i].conn, errors[i < 5 ? i : 4]));
	while (nseen)
		xiw_conn_free(seen[--nseen].conn);
	xiw_region_free(region);
	xiw_listener_free(listener);
	for (int i = 0; i < 5; i++)
		if (i != 1)
			close(fd[i]);
	return make_engine();
}

/* The connection carries RDMAP, with operations posted. */
static bool engine_first_rdmap(void)
{
	struct xiw_rdma_op op = { .kind = XIW_RDMA_SEND, .buf = memory, .len = 1 };
	struct xiw_rdma_info info;
	int fd = open_peer();

	CHECK(fd >= 0);
	for (int i = 0; i < 4; i++)
		CHECK(!xiw_rdma_post(seen[0].rdma, &op));
	CHECK(!xiw_engine_destroy(engine));
	engine = NULL;
	CHECK(xiw_rdma_post(seen[0].rdma, &op) == -EPIPE);
	CHECK(xiw_rdma_post_recv(seen[0].rdma, memory, 1, 0) == -ESHUTDOWN);
	CHECK(!xiw_rdma_close(seen[0].rdma));
	xiw_rdma_terminate(seen[0].rdma);
	xiw_rdma_info(seen[0].rdma, &info, sizeof(info));
	CHECK(!info.sends_out);
	xiw_conn_free(seen[0].conn);
	nseen = 0;
	xiw_listener_free(listener);
	xiw_region_free(region);
	close(fd);
	return make_engine();
}

/* An application that ends with its engine frees nothing, and no leak is reported. */
static bool nothing_freed(void)
{
	int fd = open_peer();

	CHECK(fd >= 0);
	CHECK(!xiw_engine_destroy(engine));
	engine = NULL;
	nseen = 0;
	close(fd);
	return make_engine();
}

const struct object_case engine_cases[] = {
	{ "engine-first", engine_first, false },
	{ "engine-first-rdmap", engine_first_rdmap, true },
	{ "nothing-freed", nothing_freed, false },
	{},
};
