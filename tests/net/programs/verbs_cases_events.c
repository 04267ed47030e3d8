// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The events that librdmacm documents: refusals, absent peers, channels, and acknowledgement. */
#include "tests/net/programs/verbs_ends.h"

#include <endian.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static void ready(struct side *s, uint16_t port)
{
	resolve(s, peer_host, port);
	add_queues(s);
}

static uint16_t port(void)
{
	return (uint16_t)atoi(peer_port);
}

/* ---- no connection ------------------------------------------------------------------------------- */

static const char why[] = "not today";

static void is_rejected(void)
{
	struct rdma_cm_event *event;
	struct side s = {};

	ready(&s, port());
	post_buffers(&s, 1);
	IS(!rdma_connect(s.id, NULL));
	event = get_event(s.channel, RDMA_CM_EVENT_REJECTED);
	IS(event->status == -ECONNREFUSED);
	IS(event->param.conn.private_data_len >= sizeof(why));
	IS(!memcmp(event->param.conn.private_data, why, sizeof(why)));
	IS(!rdma_ack_cm_event(event));
	completed(s.cq, 100, IBV_WC_WR_FLUSH_ERR);
	IS(!readable(s.channel->fd, 0));
	free_side(&s);
}

static void rejects(void)
{
	struct side s = {};

	get_request(&s);
	IS(!rdma_reject(s.id, why, sizeof(why)));
	IS(rdma_reject(s.id, NULL, 0) == -1 && errno == EINVAL);
	free_side(&s);
}

/* A request whose identifier is destroyed is rejected, also while its event is not acknowledged. */
static void is_dropped(void)
{
	for (int i = 0; i < 2; i++) {
		struct side s = {};

		ready(&s, port());
		IS(!rdma_connect(s.id, NULL));
		IS(take_event(s.channel, RDMA_CM_EVENT_REJECTED) == -ECONNREFUSED);
		free_side(&s);
	}
}

static void drops(void)
{
	struct rdma_cm_event *event;
	struct side s = {};

	get_request(&s);
	IS(!rdma_destroy_id(s.id));
	event = get_event(listening.channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	IS(!rdma_destroy_id(event->id));
	IS(!rdma_ack_cm_event(event));
}

/* Requests that nobody has taken are rejected with their listener. */
static void drops_listener(void)
{
	IS(readable(listening.channel->fd, WAIT_MS));
	IS(!rdma_destroy_id(listening.id));
	listening.id = NULL;
}

static void is_dropped_with_listener(void)
{
	struct side s = {};

	ready(&s, port());
	IS(!rdma_connect(s.id, NULL));
	IS(take_event(s.channel, RDMA_CM_EVENT_REJECTED) == -ECONNREFUSED);
	free_side(&s);
}

static void asks_closed_port(void)
{
	struct side s = {};

	ready(&s, (uint16_t)(port() + 2));
	IS(!rdma_connect(s.id, NULL));
	IS(take_event(s.channel, RDMA_CM_EVENT_REJECTED) == -ECONNREFUSED);
	free_side(&s);
}

static void asks_nobody(void)
{
	struct side s = {};
	char host[64];

	/* 10.77.0.2 is the other side's, and 10.77.0.222 nobody's. */
	snprintf(host, sizeof(host), "%s22", peer_host);
	resolve(&s, host, port());
	add_queues(&s);
	IS(!rdma_connect(s.id, NULL));
	IS(take_event(s.channel, RDMA_CM_EVENT_UNREACHABLE) < 0);
	free_side(&s);
}

static void asks_and_goes(void)
{
	struct side s = {};

	ready(&s, port());
	IS(!rdma_connect(s.id, NULL));
	IS(told() == 1);
	_exit(0);
}

/* On this side, that is no rejection, and nobody to be reached. */
static void accepts_late(void)
{
	struct rdma_cm_event *event;
	struct side s = {};

	get_request(&s);
	add_queues(&s);
	post_buffers(&s, 1);
	tell(1);
	IS(told() == UINT64_MAX);
	usleep(100000);
	if (!rdma_accept(s.id, NULL)) {
		IS(readable(s.channel->fd, WAIT_MS) && !rdma_get_cm_event(s.channel, &event));
		if (event->event == RDMA_CM_EVENT_ESTABLISHED) {
			IS(!rdma_ack_cm_event(event));
			IS(!rdma_get_cm_event(s.channel, &event));
			IS(event->event == RDMA_CM_EVENT_DISCONNECTED);
		} else if (event->event != RDMA_CM_EVENT_CONNECT_ERROR) {
			die("%s", rdma_event_str(event->event));
		}
		IS(!rdma_ack_cm_event(event));
		completed(s.cq, 100, IBV_WC_WR_FLUSH_ERR);
	}
	IS(!readable(s.channel->fd, 0));
	free_side(&s);
}

/* ---- channels ------------------------------------------------------------------------------------ */

static void nonblocking(int fd)
{
	IS(!fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK));
	IS(!readable(fd, 0));
}

static void polls(void)
{
	struct ibv_async_event async;
	struct rdma_cm_event *event;
	struct side s = {};
	struct ibv_cq *cq;
	void *context;

	connect_notified(&s);
	nonblocking(s.channel->fd);
	nonblocking(s.told->fd);
	nonblocking(s.id->verbs->async_fd);
	IS(rdma_get_cm_event(s.channel, &event) == -1 && errno == EAGAIN);
	IS(ibv_get_cq_event(s.told, &cq, &context) == -1 && errno == EAGAIN);
	IS(ibv_get_async_event(s.id->verbs, &async) == -1 && errno == EAGAIN);
	meet();
	IS(readable(s.channel->fd, WAIT_MS));
	await_end(&s);
	IS(rdma_get_cm_event(s.channel, &event) == -1 && errno == EAGAIN);
	IS(readable(s.told->fd, 0) && !ibv_get_cq_event(s.told, &cq, &context));
	IS(cq == s.cq && context == &s);
	ibv_ack_cq_events(cq, 1);
	free_side(&s);
}

static void disconnects(void)
{
	struct side s = {};

	accept_side(&s, 0);
	meet();
	IS(!rdma_disconnect(s.id));
	await_end(&s);
	free_side(&s);
}

/* Events that were not taken go with their identifier, whatever it has come to. */
static void migrates(void)
{
	struct rdma_event_channel *first = rdma_create_event_channel();
	struct sockaddr_storage to;
	struct side s = {};

	IS(address_of(peer_host, port(), &to) && (s.channel = rdma_create_event_channel()));
	IS(!rdma_create_id(first, &s.id, NULL, RDMA_PS_TCP));
	IS(!rdma_resolve_addr(s.id, NULL, (struct sockaddr *)&to, 2000));
	IS(!rdma_migrate_id(s.id, s.channel) && s.id->channel == s.channel);
	IS(!readable(first->fd, 0));
	IS(!take_event(s.channel, RDMA_CM_EVENT_ADDR_RESOLVED));
	IS(!rdma_resolve_route(s.id, 2000));
	IS(!take_event(s.channel, RDMA_CM_EVENT_ROUTE_RESOLVED));
	add_queues(&s);
	IS(!rdma_migrate_id(s.id, first));
	IS(!rdma_connect(s.id, NULL));
	IS(!take_event(first, RDMA_CM_EVENT_ESTABLISHED));
	IS(!rdma_migrate_id(s.id, s.channel));
	meet();
	IS(readable(s.channel->fd, WAIT_MS));
	IS(!rdma_migrate_id(s.id, first));
	IS(!readable(s.channel->fd, 0));
	IS(!take_event(first, RDMA_CM_EVENT_DISCONNECTED));
	rdma_destroy_event_channel(s.channel);
	s.channel = first;
	free_side(&s);
}

/* ---- what comes after the end -------------------------------------------------------------------- */

/* Programs of InfiniBand free what they have when the connection is forgotten: tgtd does. */
static void is_forgotten(void)
{
	struct side s = {};

	connect_side(&s);
	meet();
	IS(!rdma_disconnect(s.id));
	IS(!take_event(s.channel, RDMA_CM_EVENT_DISCONNECTED));
	IS(!take_event(s.channel, RDMA_CM_EVENT_TIMEWAIT_EXIT));
	IS(!readable(s.channel->fd, 0));
	free_side(&s);
}

/* Nothing is told of a queue pair that is gone, also if its identifier is there. */
static void frees_before(void)
{
	struct side s = {};

	accept_side(&s, 0);
	meet();
	IS(!take_event(s.channel, RDMA_CM_EVENT_DISCONNECTED));
	rdma_destroy_qp(s.id);
	IS(!readable(s.channel->fd, 4000));
	free_side(&s);
}

/* ---- acknowledgement ----------------------------------------------------------------------------- */

static _Atomic bool gone;

static void *destroy_id(void *id)
{
	IS(!rdma_destroy_id(id));
	gone = true;
	return NULL;
}

static void *migrate_id(void *s)
{
	IS(!rdma_migrate_id(((struct side *)s)->id, listening.channel));
	gone = true;
	return NULL;
}

/* `run` is to wait until the event is acknowledged. */
static void ack_later(struct rdma_cm_event *event, void *(*run)(void *), void *arg)
{
	pthread_t thread;

	gone = false;
	IS(!pthread_create(&thread, NULL, run, arg));
	usleep(100000);
	IS(!gone);
	IS(!rdma_ack_cm_event(event));
	IS(!pthread_join(thread, NULL) && gone);
}

static void keeps_event(void)
{
	struct rdma_cm_event *event;
	struct side s = {};

	IS(listening.channel = rdma_create_event_channel());
	ready(&s, port());
	IS(!rdma_connect(s.id, NULL));
	event = get_event(s.channel, RDMA_CM_EVENT_ESTABLISHED);
	ack_later(event, migrate_id, &s);
	meet();
	event = get_event(listening.channel, RDMA_CM_EVENT_DISCONNECTED);
	rdma_destroy_qp(s.id);
	ack_later(event, destroy_id, s.id);
	s.id = NULL;
	free_side(&s);
	rdma_destroy_event_channel(listening.channel);
}

/* ---- addresses ----------------------------------------------------------------------------------- */

/* Binds the wildcard address of a family. Returns what rdma_bind_addr() does. */
static int bind_any(struct rdma_cm_id *id, int family)
{
	struct sockaddr_in6 any = { .sin6_family = (sa_family_t)family };

	any.sin6_port = htobe16(port() + 2); /* that of IPv4 is at the same place */
	return rdma_bind_addr(id, (struct sockaddr *)&any);
}

/* Servers listen on a port by IPv4 and by IPv6, with an identifier for each. */
static void listens_twice(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *v4, *v6;
	int only = 0;

	IS(!rdma_create_id(channel, &v4, NULL, RDMA_PS_TCP));
	IS(!bind_any(v4, AF_INET) && !rdma_listen(v4, 0));
	IS(!rdma_create_id(channel, &v6, NULL, RDMA_PS_TCP));
	IS(rdma_set_option(v6, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &only, 1) == -1 &&
	   errno == EINVAL);
	IS(!rdma_set_option(v6, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &only, sizeof(only)));
	IS(bind_any(v6, AF_INET6) == -1 && errno == EADDRINUSE);
	only = 1;
	IS(!rdma_set_option(v6, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &only, sizeof(only)));
	IS(!bind_any(v6, AF_INET6) && !rdma_listen(v6, 0));
	IS(rdma_set_option(v6, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &only, sizeof(only)) == -1 &&
	   errno == EINVAL);
	IS(!rdma_destroy_id(v4) && !rdma_destroy_id(v6));
	rdma_destroy_event_channel(channel);
}

/* ---- options ------------------------------------------------------------------------------------- */

#define CLASS 0x28

static void set_class(struct rdma_cm_id *id)
{
	uint8_t class = CLASS;
	int too_long = CLASS;

	IS(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &too_long, sizeof(int)) == -1 &&
	   errno == EINVAL);
	IS(!rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &class, 1));
}

/* IPv4's and IPv6's ports are at the same place. */
static bool is_connection(int fd)
{
	struct sockaddr_in6 local, remote;
	socklen_t len = sizeof(local);

	if (getsockname(fd, (struct sockaddr *)&local, &len))
		return false;
	len = sizeof(remote);
	return !getpeername(fd, (struct sockaddr *)&remote, &len) &&
	       (local.sin6_port == htobe16(port()) || remote.sin6_port == htobe16(port()));
}

/* The library's socket is somewhere among the descriptors. */
static int class_of_connection(void)
{
	const bool v6 = strchr(peer_host, ':');
	int class, fd = 0;
	socklen_t len = sizeof(class);

	while (!is_connection(fd))
		IS(++fd < 1 << 17);
	IS(!getsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_TCLASS : IP_TOS, &class,
		       &len));
	return class;
}

/* The listener's. */
static void has_class(void)
{
	struct side s = {};

	set_class(listening.id);
	meet();
	accept_side(&s, 0);
	IS(class_of_connection() == CLASS);
	meet();
	await_end(&s);
	free_side(&s);
}

static void asks_with_class(void)
{
	struct side s = {};

	meet();
	ready(&s, port());
	set_class(s.id);
	IS(!rdma_connect(s.id, NULL));
	IS(!take_event(s.channel, RDMA_CM_EVENT_ESTABLISHED));
	IS(class_of_connection() == CLASS);
	meet();
	IS(!rdma_disconnect(s.id));
	await_end(&s);
	free_side(&s);
}

static void *waits_for_event(void *channel)
{
	struct rdma_cm_event *event;

	rdma_get_cm_event(channel, &event);
	return NULL;
}

/* rping's thread for events asks for the next one when another thread has destroyed the channel. It is not told. */
static void asks_destroyed(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	pthread_t late;
	void *ended;

	rdma_destroy_event_channel(channel);
	IS(!pthread_create(&late, NULL, waits_for_event, channel));
	usleep(50000);
	IS(!pthread_cancel(late) && !pthread_join(late, &ended));
	IS(ended == PTHREAD_CANCELED);
}

const struct verbs_case cases_of_events[] = {
	{ "rejected", is_rejected, rejects },
	{ "request-destroyed", is_dropped, drops },
	{ "listener-destroyed", is_dropped_with_listener, drops_listener },
	{ "closed-port", asks_closed_port, NULL },
	{ "unreachable", asks_nobody, NULL },
	{ "accept-after-peer", asks_and_goes, accepts_late },
	{ "nonblocking", polls, disconnects },
	{ "migrate", migrates, disconnects },
	{ "forgotten", is_forgotten, frees_before },
	{ "unacknowledged", keeps_event, disconnects },
	{ "both-families", listens_twice, NULL },
	{ "traffic-class", asks_with_class, has_class },
	{ "channel-destroyed", asks_destroyed, NULL },
	{},
};
