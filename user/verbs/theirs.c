// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "verbs/theirs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "verbs/devices.h"

/* ---- identifiers ---------------------------------------------------------------------------------------- */

/* What a program reads in the public part, its own context and channel apart. */
static void take_over(struct xiw_id *id)
{
	const struct rdma_cm_id *real = id->real;

	id->cm.verbs = real->verbs;
	id->cm.qp = real->qp;
	id->cm.route = real->route;
	id->cm.port_num = real->port_num;
	id->cm.send_cq_channel = real->send_cq_channel;
	id->cm.send_cq = real->send_cq;
	id->cm.recv_cq_channel = real->recv_cq_channel;
	id->cm.recv_cq = real->recv_cq;
	id->cm.srq = real->srq;
	id->cm.pd = real->pd;
	id->cm.qp_type = real->qp_type;
}

int xiw_theirs_done(struct rdma_cm_id *cm, int rc)
{
	if (xiw_theirs(cm) != cm)
		take_over(xiw_id(cm));
	return rc;
}

/* What the program has set before it said where the identifier belongs. */
static int pass_options(struct xiw_id *id)
{
	for (int i = 0; i < XIW_ID_OPTIONS; i++) {
		struct xiw_id_option *o = &id->options[i];

		if (o->len &&
		    XIW_REAL(rdma_set_option)(id->real, RDMA_OPTION_ID, i, o->value, o->len))
			return -1;
	}
	return 0;
}

int xiw_theirs_make(struct xiw_id *id)
{
	struct rdma_event_channel *channel = ((struct xiw_cm_channel *)id->cm.channel)->real;
	int why;

	if (!channel) {
		errno = ENODEV;
		return -1;
	}
	if (XIW_REAL(rdma_create_id)(channel, &id->real, id, id->cm.ps))
		return -1;
	if (!pass_options(id))
		return 0;
	why = errno;
	XIW_REAL(rdma_destroy_id)(id->real);
	id->real = NULL;
	errno = why;
	return -1;
}

int xiw_theirs_destroy(struct xiw_id *id)
{
	struct rdma_cm_id *real = id->real;

	return real ? XIW_REAL(rdma_destroy_id)(real) : 0;
}

int xiw_theirs_move(struct xiw_id *id, struct xiw_cm_channel *to)
{
	if (!to->real)
		return -ENODEV;
	return XIW_REAL(rdma_migrate_id)(id->real, to->real) ? -errno : 0;
}

/* The real library sees ours, too. */
unsigned int xiw_theirs_devices(struct ibv_context **list, unsigned int room)
{
	struct ibv_context **all = NULL;
	unsigned int n = 0;
	int found = 0;

	if (xiw_devices_real() && xiw_real("rdma_get_devices"))
		all = XIW_REAL(rdma_get_devices)(&found);
	for (int i = 0; all && i < found; i++)
		if (!xiw_is_context(all[i]) && n < room)
			list[n++] = all[i];
	if (all)
		XIW_REAL(rdma_free_devices)(all);
	return n;
}

/* ---- channels ------------------------------------------------------------------------------------------- */

static int watch(int epoll, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

/* Other threads may take what one has seen, so the real channel does not block. */
int xiw_theirs_open(struct xiw_cm_channel *c)
{
	struct rdma_event_channel *(*create)(void) = xiw_real("rdma_create_event_channel");
	int err;

	if (!xiw_devices_real() || !create)
		return 0;
	c->real = create();
	if (!c->real)
		return 0; /* the kernel's part is not there: no RNIC can be used */
	c->cm.fd = epoll_create1(EPOLL_CLOEXEC);
	if (c->cm.fd >= 0 && !watch(c->cm.fd, xiw_host_eq_fd(c->eq)) &&
	    !watch(c->cm.fd, c->real->fd) && !fcntl(c->real->fd, F_SETFL, O_NONBLOCK))
		return 0;
	err = -errno;
	xiw_theirs_close(c);
	xiw_theirs_free(c);
	return err;
}

void xiw_theirs_free(struct xiw_cm_channel *c)
{
	if (c->real)
		XIW_REAL(rdma_destroy_event_channel)(c->real);
	c->real = NULL;
}

/* The real channel stays as long as the memory of ours: a thread that waits for events may be about to look there. */
void xiw_theirs_close(struct xiw_cm_channel *c)
{
	if (!c->real)
		return;
	if (c->cm.fd >= 0)
		close(c->cm.fd);
	c->cm.fd = -1;
}

int xiw_theirs_wait(struct xiw_cm_channel *c, struct xiw_host_event *event)
{
	struct pollfd p = { .fd = c->cm.fd, .events = POLLIN };
	int rc = xiw_host_eq_wait(c->eq, event, 0);

	if (rc != -ETIMEDOUT)
		return rc;
	xiw_host_look_at_handlers();
	if (poll(&p, 1, xiw_host_nonblocking(p.fd) ? 0 : -1) < 0)
		return errno == EINTR && xiw_host_restarts() ? 0 : -errno;
	return p.revents ? 0 : -EAGAIN;
}
