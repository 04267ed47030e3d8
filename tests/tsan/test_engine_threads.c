// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * An engine and threads, by the rules of xiwarp/xiwarp.h. An engine is made in one thread and run in another, or in a
 * child process. Any thread may call the other functions. The engine is ended by the thread that ran it, or after that
 * thread has ended. Everything goes over lo, on the kernel path.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xiwarp/xiwarp.h>

#include "tests/fuzz/fuzz.h"

#define MESSAGES 400u /* more than there are provided buffers */
#define DEPTH 512u
#define MANY 700 /* requests: more than fit into the submission queue */
#define WAIT_MS 20

static struct xiw_conn_opts conn_opts = {
	.size = sizeof(conn_opts), .queues = 1, .recv_depth = DEPTH, .send_depth = DEPTH
};
static uint8_t octets[4096], sink[4096];
static struct xiw_engine *volatile childs; /* the parent does not touch it */

static struct xiw_engine *make(void)
{
	struct xiw_engine_opts o = { .size = sizeof(o), .path = XIW_USE_KERNEL };
	struct xiw_engine *e;

	CHECK(!xiw_engine_create(&o, &e));
	return e;
}

static struct xiw_listener *open_listener(struct xiw_engine *e, struct sockaddr_in *addr)
{
	struct sockaddr_storage bound;
	struct xiw_listener *l;
	socklen_t len;

	*addr = (struct sockaddr_in){ .sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	CHECK(!xiw_listen(e, (struct sockaddr *)addr, sizeof(*addr), &conn_opts, &l));
	CHECK(!xiw_listener_addr(l, &bound, &len));
	memcpy(addr, &bound, sizeof(*addr));
	return l;
}

static int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	CHECK(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* ---- the two ends of a connection ---------------------------------------------------------------- */

struct end {
	struct xiw_engine *engine;
	unsigned int wanted;	      /* completions until the thread ends */
	unsigned int received, sent;  /* messages */
	unsigned int connected, over; /* connections */
	_Atomic bool leave, stay,
		ended; /* leave: do not wait for more; stay: do not end the thread */
	int result;    /* of the first xiw_engine_run() */
};

static void take(struct end *n, const struct xiw_completion *c)
{
	struct xiw_message m = { .buf = octets, .len = sizeof(octets) };

	switch (c->event) {
	case XIW_EV_REQUEST:
		for (unsigned int i = 0; i < DEPTH; i++)
			CHECK(!xiw_conn_post_recv(c->conn, 0, sink, sizeof(sink), 0));
		CHECK(!xiw_conn_accept(c->conn, NULL, 0));
		break;
	case XIW_EV_CONNECTED:
		n->connected++;
		for (unsigned int i = 0; c->user_data && i < c->user_data; i++)
			CHECK(!xiw_conn_send(c->conn, &m));
		if (c->user_data)
			xiw_conn_close(c->conn);
		break;
	case XIW_EV_RECEIVED:
		CHECK(c->length == sizeof(octets) && c->msn == ++n->received);
		break;
	case XIW_EV_SENT:
		n->sent++;
		break;
	case XIW_EV_EOF:
		xiw_conn_close(c->conn);
		break;
	case XIW_EV_CLOSED:
		n->over++;
		xiw_conn_free(c->conn);
		break;
	default:
		break;
	}
}

static void *run(void *arg)
{
	struct end *n = arg;
	struct xiw_completion c;

	n->result = xiw_engine_run(n->engine, 0);
	while (n->result >= 0 && !n->leave && n->over < n->wanted) {
		int err = xiw_engine_run(n->engine, WAIT_MS);

		CHECK(err >= 0 || err == -EINTR, "run: %d", err);
		while (xiw_engine_next(n->engine, &c))
			take(n, &c);
	}
	n->ended = true;
	while (n->stay)
		usleep(1000);
	return NULL;
}

/* Runs an engine of its own in a thread of its own. */
static void *client(void *arg)
{
	struct end n = { .engine = make(), .wanted = 1 };
	struct xiw_conn_opts o = conn_opts;
	struct xiw_conn *c;

	o.user_data = MESSAGES;
	CHECK(!xiw_connect(n.engine, arg, sizeof(struct sockaddr_in), &o, &c));
	run(&n);
	CHECK(n.result >= 0 && n.sent == MESSAGES, "sent %u", n.sent);
	CHECK(!xiw_engine_destroy(n.engine));
	return NULL;
}

/* ---- the tests ----------------------------------------------------------------------------------- */

/* Runs first, while the process has only one thread. */
static void made_before_fork(void)
{
	struct end n = { .engine = make(), .wanted = 1 };
	struct sockaddr_in addr;
	int status;
	pid_t pid;

	childs = n.engine;
	open_listener(n.engine, &addr);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		run(&n);
		CHECK(n.result >= 0 && n.received == MESSAGES, "%d, %u messages", n.result,
		      n.received);
		pid = fork();
		if (!pid) {
			CHECK(xiw_engine_run(n.engine, 0) == -EEXIST);
			CHECK(xiw_engine_destroy(n.engine) == -EEXIST);
			_exit(0);
		}
		CHECK(waitpid(pid, &status, 0) == pid && !status);
		CHECK(!xiw_engine_destroy(n.engine));
		_exit(0);
	}
	client(&addr);
	CHECK(waitpid(pid, &status, 0) == pid && !status, "status %x", status);
	printf("PASS made before fork, run in the child\n");
}

/* Requests of all kinds wait for the thread that will run the engine, also more than fit into the submission queue. */
static void made_here_run_there(void)
{
	struct end n = { .engine = make(), .wanted = 1 + MANY };
	struct xiw_listener *listeners[MANY];
	struct sockaddr_in addr, other;
	pthread_t runner, sender;
	struct xiw_conn *c;

	open_listener(n.engine, &addr);
	for (int i = 0; i < MANY / 2; i++)
		listeners[i] = open_listener(n.engine, &other);
	for (int i = 0; i < MANY / 2; i++)
		xiw_listener_free(listeners[i]);
	for (int i = 0; i < MANY; i++) /* nobody listens there */
		CHECK(!xiw_connect(n.engine, (struct sockaddr *)&other, sizeof(other), NULL, &c));
	CHECK(!pthread_create(&runner, NULL, run, &n));
	CHECK(!pthread_create(&sender, NULL, client, &addr));
	pthread_join(sender, NULL);
	pthread_join(runner, NULL);
	CHECK(n.result >= 0, "run: %d", n.result);
	CHECK(n.received == MESSAGES && n.connected == 1, "%u messages", n.received);
	/* Ends the engine with its listener, after its thread has ended. */
	CHECK(!xiw_engine_destroy(n.engine));
	printf("PASS made here, run and used there\n");
}

/* While the engine's thread rests, other threads fill the submission queue; they cannot run or end the engine. */
static void another_threads(void)
{
	struct end n = { .engine = make(), .wanted = 2 * MANY, .stay = true };
	struct sockaddr_in nowhere = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				       .sin_port = htons(1) };
	struct end again;
	pthread_t runner;
	struct xiw_conn *c;

	n.leave = true;
	CHECK(!pthread_create(&runner, NULL, run, &n));
	while (!n.ended)
		usleep(1000);
	for (int i = 0; i < MANY; i++)
		CHECK(!xiw_connect(n.engine, (struct sockaddr *)&nowhere, sizeof(nowhere), NULL,
				   &c));
	CHECK(xiw_engine_run(n.engine, 0) == -EEXIST);
	CHECK(xiw_engine_destroy(n.engine) == -EEXIST);
	n.stay = false;
	pthread_join(runner, NULL);
	again = (struct end){ .engine = n.engine };
	run(&again);
	CHECK(again.result == -EEXIST);
	CHECK(!xiw_engine_destroy(n.engine));
	printf("PASS another thread's\n");
}

/* An accept, a handshake and a receive are under way, and the ring holds the results of some. */
static void thread_ended(void)
{
	struct end n = { .engine = make() }, to = { .engine = make() };
	struct sockaddr_in addr, silent;
	struct xiw_listener *listener;
	struct xiw_conn *c, *freed;
	int before = descriptors();
	pthread_t runner;

	open_listener(to.engine, &silent); /* accepts, and says nothing */
	listener = open_listener(n.engine, &addr);
	CHECK(!xiw_connect(n.engine, (struct sockaddr *)&addr, sizeof(addr), &conn_opts, &c));
	CHECK(!xiw_connect(n.engine, (struct sockaddr *)&silent, sizeof(silent), &conn_opts, &c));
	CHECK(!xiw_connect(n.engine, (struct sockaddr *)&silent, sizeof(silent), &conn_opts,
			   &freed));
	CHECK(!pthread_create(&runner, NULL, run, &n));
	usleep(100000);
	n.leave = true;
	pthread_join(runner, NULL);
	xiw_conn_free(freed);
	xiw_listener_free(listener);
	open_listener(n.engine, &addr);
	CHECK(!xiw_engine_destroy(n.engine));
	CHECK(!xiw_engine_destroy(to.engine));
	CHECK(descriptors() < before);
	printf("PASS ended after its thread\n");
}

static void *end_it(void *engine)
{
	CHECK(!xiw_engine_destroy(engine));
	return NULL;
}

/* No request has begun yet. */
static void never_run(void)
{
	int before = descriptors();
	struct xiw_engine *e = make();
	struct sockaddr_in addr;
	pthread_t thread;
	struct xiw_conn *c;

	for (int i = 0; i < MANY / 2; i++)
		open_listener(e, &addr);
	for (int i = 0; i < MANY / 2; i++) {
		CHECK(!xiw_connect(e, (struct sockaddr *)&addr, sizeof(addr), NULL, &c));
		if (i % 2)
			xiw_conn_free(c);
	}
	CHECK(!pthread_create(&thread, NULL, end_it, e));
	pthread_join(thread, NULL);
	CHECK(descriptors() == before, "%d descriptors, %d", descriptors(), before);
	printf("PASS never run\n");
}

int main(void)
{
	struct rlimit limit = { .rlim_cur = 4 * MANY, .rlim_max = 4 * MANY };

	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
	made_before_fork();
	made_here_run_there();
	another_threads();
	thread_ended();
	never_run();
	return 0;
}
