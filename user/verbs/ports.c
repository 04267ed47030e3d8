// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A port is down while its interface has no link, and connections go on behind that. When the interface is gone, so is
 * the device: the host layer resets its connections (host/interfaces.h). One of the same name is another device.
 */
#include "verbs/ports.h"

#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cancel.h"
#include "host/interfaces.h"
#include "host/life.h"
#include "verbs/cm.h"
#include "verbs/verbs.h"

/* With xiw_host_lock. */
static struct xiw_context *contexts;
static struct xiw_id *ids;

bool xiw_port_runs(const struct xiw_device *d)
{
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq ifr = {}, index = {};
	bool runs;

	if (fd < 0)
		return false;
	memcpy(ifr.ifr_name, d->ifname, sizeof(ifr.ifr_name));
	memcpy(index.ifr_name, d->ifname, sizeof(index.ifr_name));
	runs = !ioctl(fd, SIOCGIFINDEX, &index) && index.ifr_ifindex == d->ifindex &&
	       !ioctl(fd, SIOCGIFFLAGS, &ifr) && ifr.ifr_flags & IFF_UP &&
	       ifr.ifr_flags & IFF_RUNNING;
	close(fd);
	return runs;
}

/* With xiw_host_lock. */
static void tell(const struct xiw_context *c, enum ibv_event_type type)
{
	const struct xiw_host_event e = { .kind = XIW_HOST_OTHER, .other = type };

	xiw_host_eq_post(c->async, &e);
}

static void tell_context(struct xiw_context *c, enum xiw_host_interface state)
{
	const bool up = state == XIW_HOST_INTERFACE_UP;

	if (c->gone)
		return;
	if (state == XIW_HOST_INTERFACE_GONE)
		tell(c, IBV_EVENT_DEVICE_FATAL);
	else if (c->up != up)
		tell(c, up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
	c->up = up;
	c->gone = state == XIW_HOST_INTERFACE_GONE;
}

/* One without a channel waits for the event of its last call, and takes the next one for that. */
static void tell_id(struct xiw_id *id, int ifindex)
{
	if (!id->sync && xiw_is_context(id->cm.verbs) &&
	    xiw_context(id->cm.verbs)->device->ifindex == ifindex)
		xiw_cm_tell(id, RDMA_CM_EVENT_DEVICE_REMOVAL, 0);
}

static void changed(int ifindex, enum xiw_host_interface state)
{
	for (struct xiw_context *c = contexts; c; c = c->next)
		if (c->device->ifindex == ifindex)
			tell_context(c, state);
	for (struct xiw_id *id = ids; id && state == XIW_HOST_INTERFACE_GONE; id = id->next)
		tell_id(id, ifindex);
}

__attribute__((constructor)) static void begin(void)
{
	xiw_host_interface_changed = changed;
}

/* What changes while this asks is told afterwards. */
void xiw_ports_open(struct xiw_context *c)
{
	const int cancel = xiw_cancel_off();

	xiw_host_interfaces_watch();
	pthread_mutex_lock(&xiw_host_lock);
	c->up = xiw_port_runs(c->device);
	c->next = contexts;
	contexts = c;
	pthread_mutex_unlock(&xiw_host_lock);
	xiw_cancel_restore(cancel);
}

void xiw_ports_close(struct xiw_context *c)
{
	struct xiw_context **at = &contexts;

	pthread_mutex_lock(&xiw_host_lock);
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	pthread_mutex_unlock(&xiw_host_lock);
}

void xiw_ports_add(struct xiw_id *id)
{
	pthread_mutex_lock(&xiw_host_lock);
	id->next = ids;
	ids = id;
	pthread_mutex_unlock(&xiw_host_lock);
}

void xiw_ports_remove(struct xiw_id *id)
{
	struct xiw_id **at = &ids;

	pthread_mutex_lock(&xiw_host_lock);
	while (*at != id)
		at = &(*at)->next;
	*at = id->next;
	pthread_mutex_unlock(&xiw_host_lock);
}
