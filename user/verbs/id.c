// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* librdmacm's identifiers: their life and their devices. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "host/files.h"
#include "host/life.h"
#include "host/listen.h"
#include "verbs/cm.h"
#include "verbs/devices.h"
#include "verbs/objects.h"
#include "verbs/ports.h"
#include "verbs/theirs.h"
#include "verbs/verbs.h"

#define RNICS_MAX 64 /* of which rdma_get_devices() tells */

/* ---- devices ------------------------------------------------------------------------------------------- */

/* librdmacm opens each device once, and never closes it: programs compare the contexts of identifiers. */
struct opened {
	struct ibv_context *context;
	struct ibv_pd *pd;
};

static struct {
	pthread_mutex_t lock;
	struct xiw_host_life life;
	struct opened *all;
	unsigned int n;
} opened = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct ibv_context *context_of(struct xiw_device *device)
{
	struct ibv_context *context;
	struct opened *all;

	/* What a child of fork() finds there is its parent's. */
	if (xiw_host_dead(&opened.life)) {
		xiw_host_born(&opened.life);
		opened.n = 0;
	}
	for (unsigned int i = 0; i < opened.n; i++)
		if (opened.all[i].context->device == &device->ibv)
			return opened.all[i].context;
	all = realloc(opened.all, (opened.n + 1) * sizeof(*all));
	if (!all)
		return NULL;
	opened.all = all;
	context = ibv_open_device(&device->ibv);
	if (context)
		opened.all[opened.n++] = (struct opened){ .context = context };
	return context;
}

int xiw_cm_set_device(struct xiw_id *id, struct xiw_device *device)
{
	struct ibv_context *context;

	if (!device)
		return -errno;
	pthread_mutex_lock(&opened.lock);
	context = context_of(device);
	pthread_mutex_unlock(&opened.lock);
	pthread_mutex_lock(&xiw_host_lock);
	id->cm.verbs = context;
	pthread_mutex_unlock(&xiw_host_lock);
	id->cm.port_num = 1;
	if (!id->cm.verbs)
		return -ENOMEM;
	id->cm.pd = xiw_cm_default_pd(id->cm.verbs);
	return id->cm.pd ? 0 : -ENOMEM;
}

struct ibv_pd *xiw_cm_default_pd(const struct ibv_context *context)
{
	struct ibv_pd *pd = NULL;

	pthread_mutex_lock(&opened.lock);
	for (unsigned int i = 0; i < opened.n; i++) {
		if (opened.all[i].context != context)
			continue;
		if (!opened.all[i].pd)
			opened.all[i].pd = ibv_alloc_pd(opened.all[i].context);
		pd = opened.all[i].pd;
	}
	pthread_mutex_unlock(&opened.lock);
	return pd;
}

XIW_INTERPOSE struct ibv_context **rdma_get_devices(int *num_devices)
{
	unsigned int n;
	struct xiw_device **devices = xiw_devices(&n);
	struct ibv_context **list = calloc(n + RNICS_MAX + 1, sizeof(*list));

	if (!list) {
		free(devices);
		return xiw_refuse(-ENOMEM);
	}
	pthread_mutex_lock(&opened.lock);
	for (unsigned int i = 0; i < n; i++)
		list[i] = context_of(devices[i]);
	pthread_mutex_unlock(&opened.lock);
	free(devices);
	n += xiw_theirs_devices(list + n, RNICS_MAX);
	if (num_devices)
		*num_devices = (int)n;
	return list;
}

XIW_INTERPOSE void rdma_free_devices(struct ibv_context **list)
{
	free(list);
}

/* ---- life ---------------------------------------------------------------------------------------------- */

XIW_INTERPOSE int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id,
				 void *context, enum rdma_port_space ps)
{
	struct xiw_id *new;

	/* iWARP has connections only. */
	if (ps != RDMA_PS_TCP && ps != RDMA_PS_IB)
		return xiw_cm_result(-EPROTONOSUPPORT);
	new = calloc(1, sizeof(*new));
	if (!new)
		return xiw_cm_result(-ENOMEM);
	new->self = new;
	new->sync = !channel;
	new->cm.channel = channel ? channel : rdma_create_event_channel();
	if (!new->cm.channel) {
		free(new);
		return -1;
	}
	new->cm.context = context;
	new->cm.ps = ps;
	new->cm.qp_type = IBV_QPT_RC;
	pthread_mutex_init(&new->lock, NULL);
	pthread_cond_init(&new->acked, NULL);
	xiw_ports_add(new);
	*id = &new->cm;
	return 0;
}

/* A listener on the wildcard address hears of connections to every interface. */
static void say_no_device(const struct sockaddr *addr)
{
	const struct sockaddr_in6 *v6 = (const void *)addr;
	const struct sockaddr_in *v4 = (const void *)addr;
	char name[INET6_ADDRSTRLEN] = "";
	static bool said;

	if (__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
		return;
	if (addr->sa_family == AF_INET6)
		inet_ntop(AF_INET6, &v6->sin6_addr, name, sizeof(name));
	else
		inet_ntop(AF_INET, &v4->sin_addr, name, sizeof(name));
	fprintf(stderr,
		"xiwarp: a connection to %s is refused: that is the address of no device (those of "
		"loopback and of RNICs are not; xiwarp run --if IF names the only one)\n",
		name);
}

/* Asked by engines. */
static void *device_at(const struct sockaddr *local, const struct ifaddrs *all)
{
	struct xiw_device *device = xiw_device_among(all, local);

	if (!device)
		say_no_device(local);
	return device;
}

__attribute__((constructor)) static void begin(void)
{
	xiw_host_target = device_at;
}

struct xiw_id *xiw_id_of_request(struct xiw_id *listener, const struct xiw_host_event *event)
{
	struct rdma_cm_id *cm;
	struct xiw_id *id;

	if (rdma_create_id(listener->sync ? NULL : listener->cm.channel, &cm, listener->cm.context,
			   listener->cm.ps)) {
		xiw_host_files_refused(-errno);
		return NULL;
	}
	id = xiw_id(cm);
	xiw_host_request_addr(event->request, &cm->route.addr.src_storage,
			      &cm->route.addr.dst_storage);
	if (xiw_cm_set_device(id, xiw_host_request_target(event->request))) {
		rdma_destroy_id(cm);
		return NULL;
	}
	id->request = event->request;
	id->passive = true;
	id->ird = event->ird;
	id->ord = event->ord;
	id->options[RDMA_OPTION_ID_TOS] = listener->options[RDMA_OPTION_ID_TOS];
	return id;
}

static void free_channel(struct xiw_id *id)
{
	if (id->sync)
		rdma_destroy_event_channel(id->cm.channel);
}

/* The connection of a queue pair that outlives its identifier ends, and nobody hears of it. */
static void leave_qp(struct xiw_id *id)
{
	struct xiw_qp *qp = xiw_qp_of(id->qp_num, id);

	if (!qp)
		return;
	xiw_host_disconnect(qp->host);
	xiw_host_qp_mute(qp->host);
}

/* Waits until all events that the program has got are acknowledged, as librdmacm does. */
XIW_INTERPOSE int rdma_destroy_id(struct rdma_cm_id *cm)
{
	struct xiw_id *id = xiw_id(cm);

	if (xiw_theirs(cm) == cm)
		return XIW_REAL(rdma_destroy_id)(cm);
	if (cm->event)
		rdma_ack_cm_event(cm->event);
	if (xiw_theirs_destroy(id))
		return -1;
	xiw_host_listener_free(id->listener);
	if (id->request)
		xiw_host_reject(id->request, NULL, 0);
	leave_qp(id);
	xiw_ports_remove(id);
	xiw_host_eq_purge(xiw_id_eq(id), id);
	pthread_mutex_lock(&id->lock);
	while (id->told)
		pthread_cond_wait(&id->acked, &id->lock);
	pthread_mutex_unlock(&id->lock);
	free_channel(id);
	pthread_cond_destroy(&id->acked);
	pthread_mutex_destroy(&id->lock);
	free(id);
	return 0;
}

/* Events of the old channel that the program has not acknowledged are waited for, as librdmacm does. */
XIW_INTERPOSE int rdma_migrate_id(struct rdma_cm_id *cm, struct rdma_event_channel *channel)
{
	struct rdma_event_channel *old;
	struct xiw_id *id = xiw_id(cm);
	bool sync = !channel;
	struct xiw_host_eq *eq;
	struct xiw_qp *qp;
	int rc = 0;

	if (xiw_theirs(cm) == cm)
		return XIW_REAL(rdma_migrate_id)(cm, channel);
	if (id->sync && !channel)
		return xiw_cm_result(-EINVAL);
	if (sync)
		channel = rdma_create_event_channel();
	if (!channel)
		return -1;
	if (cm->event && id->sync) {
		rdma_ack_cm_event(cm->event);
		cm->event = NULL;
	}
	eq = ((struct xiw_cm_channel *)channel)->eq;
	qp = xiw_qp_of(id->qp_num, id);
	if (id->real)
		rc = xiw_theirs_move(id, (struct xiw_cm_channel *)channel);
	else if (id->listener)
		rc = xiw_host_listener_move(id->listener, eq);
	else if (qp)
		rc = xiw_host_qp_move(qp->host, eq);
	if (rc) {
		if (sync)
			rdma_destroy_event_channel(channel);
		return xiw_cm_result(rc);
	}
	/* Those that are no connection's, or of one that has ended. */
	pthread_mutex_lock(&xiw_host_lock);
	xiw_host_eq_hand_over(xiw_id_eq(id), eq, id);
	old = cm->channel;
	cm->channel = channel;
	pthread_mutex_unlock(&xiw_host_lock);
	pthread_mutex_lock(&id->lock);
	while (id->told)
		pthread_cond_wait(&id->acked, &id->lock);
	pthread_mutex_unlock(&id->lock);
	if (id->sync)
		rdma_destroy_event_channel(old);
	id->sync = sync;
	return 0;
}
