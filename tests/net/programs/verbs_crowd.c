// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * verbs_crowd server ADDRESS PORT CONNECTIONS BACKLOG FIFO
 * verbs_crowd client ADDRESS PORT CONNECTIONS AT_ONCE FIFO
 *
 * Many connections of librdmacm. The client has AT_ONCE under way, and opens the FIFO once that many have begun;
 * the server looks for requests only then. Both print how many were established. The first that fails ends both. The
 * server's own descriptors are those that select() can have.
 */
#include <rdma/rdma_cma.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/wait.h>

#include "tests/net/lib/common.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#define WAIT_MS 30000
#define GONE_MS 10000

static struct rdma_event_channel *channel;
static struct ibv_cq *cq;
static unsigned int connections, established, failed, ended;

static void add_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	if (!cq)
		IS(cq = ibv_create_cq(id->verbs, 16, NULL, NULL, 0));
	init.send_cq = init.recv_cq = cq;
	IS(!rdma_create_qp(id, NULL, &init));
}

static void let_go(struct rdma_cm_id *id)
{
	if (id->qp)
		rdma_destroy_qp(id);
	IS(!rdma_destroy_id(id));
}

/* Takes an event and does what follows from it. Returns false if none comes in time. */
static bool step(int ms)
{
	struct pollfd p = { .fd = channel->fd, .events = POLLIN };
	struct rdma_conn_param param = {};
	struct rdma_cm_event *event;
	enum rdma_cm_event_type type;
	struct rdma_cm_id *id;
	int status;

	if (poll(&p, 1, ms) != 1)
		return false;
	IS(!rdma_get_cm_event(channel, &event));
	type = event->event;
	status = event->status;
	id = event->id;
	IS(!rdma_ack_cm_event(event));
	switch (type) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		add_qp(id);
		IS(!rdma_accept(id, &param));
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		established++;
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		ended++;
		let_go(id);
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	default:
		failed++;
		printf("%s, status %d\n", rdma_event_str(type), status);
		let_go(id);
	}
	return true;
}

/* ---- the server -------------------------------------------------------------------------------------- */

/* The program's own, as it had them before; and a child has the limit that the program was started with. */
static void has_low_descriptors(rlim_t soft)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), status;
	struct rlimit l;
	fd_set set;
	pid_t pid;

	IS(fd >= 0 && fd < FD_SETSIZE);
	FD_ZERO(&set);
	FD_SET(fd, &set);
	IS(select(fd + 1, &set, NULL, NULL, NULL) == 1);
	close(fd);
	pid = fork();
	if (!pid)
		_exit(getrlimit(RLIMIT_NOFILE, &l) || l.rlim_cur != soft);
	IS(waitpid(pid, &status, 0) == pid && !status);
}

static void serve(struct sockaddr *at, int backlog, const char *fifo)
{
	struct rdma_cm_id *listener;
	struct rlimit l;
	int fd;

	IS(!getrlimit(RLIMIT_NOFILE, &l));
	IS(!rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP));
	IS(!rdma_bind_addr(listener, at) && !rdma_listen(listener, backlog));
	fd = open(fifo, O_RDONLY | O_CLOEXEC); /* waits for the client to open it */
	IS(fd >= 0);
	close(fd);
	/* The client may end some before this side has heard that the others are established; or it has failed. */
	while (established < connections && !failed && step(ended ? GONE_MS : WAIT_MS))
		;
	has_low_descriptors(l.rlim_cur);
	while (ended < established && step(WAIT_MS))
		;
	IS(!rdma_destroy_id(listener));
}

/* ---- the client -------------------------------------------------------------------------------------- */

static void begin(struct sockaddr *to, struct rdma_cm_id **id)
{
	struct rdma_conn_param param = {};

	IS(!rdma_create_id(NULL, id, NULL, RDMA_PS_TCP));
	IS(!rdma_resolve_addr(*id, NULL, to, 2000) && !rdma_resolve_route(*id, 2000));
	add_qp(*id);
	IS(!rdma_migrate_id(*id, channel));
	IS(!rdma_connect(*id, &param));
}

static void reach(struct sockaddr *to, unsigned int at_once, const char *fifo)
{
	struct rdma_cm_id **ids = calloc(connections, sizeof(struct rdma_cm_id *));
	unsigned int begun = 0;
	int fd;

	IS(ids);
	for (; begun < at_once; begun++)
		begin(to, &ids[begun]);
	fd = open(fifo, O_WRONLY | O_CLOEXEC);
	IS(fd >= 0);
	close(fd);
	while (established < connections && !failed && step(WAIT_MS)) {
		while (begun < connections && begun - established < at_once) {
			begin(to, &ids[begun]);
			begun++;
		}
	}
	for (unsigned int i = 0; !failed && i < begun; i++)
		IS(!rdma_disconnect(ids[i]));
	while (!failed && ended < established && step(WAIT_MS))
		;
	free(ids);
}

int main(int argc, char **argv)
{
	struct sockaddr_storage at;

	if (argc != 7)
		die("verbs_crowd server|client ADDRESS PORT CONNECTIONS BACKLOG|AT_ONCE FIFO");
	alarm(110);
	connections = (unsigned int)atoi(argv[4]);
	IS(address_of(argv[2], (uint16_t)atoi(argv[3]), &at));
	IS(channel = rdma_create_event_channel());
	if (!strcmp(argv[1], "server"))
		serve((struct sockaddr *)&at, atoi(argv[5]), argv[6]);
	else
		reach((struct sockaddr *)&at, (unsigned int)atoi(argv[5]), argv[6]);
	printf("established %u\n", established);
	return established == connections ? 0 : 1;
}
