// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Event queues. An event stays in the host layer's queue until it has been read, failures until fi_eq_readerr(), so
 * that the descriptor stays readable for everybody who waits.
 */
#include <stdlib.h>
#include <string.h>

#include "fabric/fabric.h"
#include "host/eq.h"

/* An event of fi_eq_write(). */
struct written {
	uint32_t event;
	size_t len;
	uint8_t data[];
};

/* ---- with the lock ------------------------------------------------------------------------------------------- */

static bool is_failure(const struct xiw_host_event *event)
{
	return event->kind == XIW_HOST_REFUSED || event->kind == XIW_HOST_FAILED;
}

static struct written *written_of(const struct xiw_host_event *event)
{
	return (struct written *)(uintptr_t)event->other;
}

static struct fi_info *request_info(const struct xiw_fi_pep *pep, struct xiw_host_request *host)
{
	struct fi_info *info = xiw_fi_info_copy(pep->info);
	struct sockaddr_storage local, remote;
	struct xiw_fi_request *r;

	xiw_host_request_addr(host, &local, &remote);
	if (!info || xiw_fi_info_set_domain(info, &local) ||
	    xiw_fi_info_set_addr(&info->src_addr, &info->src_addrlen, &local,
				 xiw_fi_addr_len(&local)) ||
	    xiw_fi_info_set_addr(&info->dest_addr, &info->dest_addrlen, &remote,
				 xiw_fi_addr_len(&remote)) ||
	    !(r = xiw_fi_request_new(host))) {
		fi_freeinfo(info);
		return NULL;
	}
	info->handle = &r->fid;
	return info;
}

static ssize_t give_written(const struct written *w, uint32_t *event, void *buf)
{
	*event = w->event;
	memcpy(buf, w->data, w->len);
	return (ssize_t)w->len;
}

static bool is_readable(const struct xiw_host_event *e, size_t room)
{
	return !is_failure(e) && room >= (e->kind == XIW_HOST_OTHER
						  ? written_of(e)->len
						  : sizeof(struct fi_eq_cm_entry));
}

static ssize_t give(const struct xiw_host_event *e, uint32_t *event, void *buf, size_t len)
{
	struct fi_eq_cm_entry *entry = buf;
	size_t room = len - sizeof(*entry), n;
	const uint8_t *data;

	if (e->kind == XIW_HOST_OTHER)
		return give_written(written_of(e), event, buf);
	*entry = (struct fi_eq_cm_entry){ .fid = e->context };
	*event = e->kind == XIW_HOST_REQUEST	   ? FI_CONNREQ
		 : e->kind == XIW_HOST_ESTABLISHED ? FI_CONNECTED
						   : FI_SHUTDOWN;
	n = e->kind == XIW_HOST_DISCONNECTED ? 0 : xiw_fi_unframe(e, &data);
	if (room > n)
		room = n;
	if (room)
		memcpy(entry->data, data, room);
	return (ssize_t)(sizeof(*entry) + room);
}

/* The event has been taken, so that a request is the program's from here on, whatever its peer does. */
static ssize_t taken(const struct xiw_host_event *e, struct fi_eq_cm_entry *entry, ssize_t n)
{
	if (e->kind == XIW_HOST_OTHER)
		free(written_of(e));
	if (e->kind != XIW_HOST_REQUEST)
		return n;
	entry->info = request_info(e->context, e->request);
	if (entry->info)
		return n;
	xiw_host_reject(e->request, NULL, 0);
	return -FI_ENOMEM;
}

/* ---- any thread ---------------------------------------------------------------------------------------------- */

/* For FI_PEEK. */
static bool nothing(const struct xiw_host_event *e, size_t room)
{
	(void)e;
	(void)room;
	return false;
}

static ssize_t eq_read(struct fid_eq *fid, uint32_t *event, void *buf, size_t len, uint64_t flags)
{
	struct xiw_fi_eq *eq = (struct xiw_fi_eq *)fid;
	const bool peek = flags & FI_PEEK;
	struct xiw_host_event e;
	ssize_t n = -FI_EAGAIN;
	int got;

	pthread_mutex_lock(&eq->lock);
	got = xiw_host_eq_take_if(eq->host, &e, peek ? nothing : is_readable, len);
	if (got)
		n = is_failure(&e)	      ? -FI_EAVAIL
		    : !is_readable(&e, len) ? -FI_ETOOSMALL
					      : give(&e, event, buf, len);
	if (got > 0)
		n = taken(&e, buf, n);
	pthread_mutex_unlock(&eq->lock);
	return n;
}

static ssize_t eq_sread(struct fid_eq *fid, uint32_t *event, void *buf, size_t len, int timeout,
			uint64_t flags)
{
	struct xiw_fi_eq *eq = (struct xiw_fi_eq *)fid;
	const int64_t deadline = xiw_fi_deadline(timeout);
	ssize_t n;

	if (eq->wait == FI_WAIT_NONE)
		return -FI_ENOSYS;
	do {
		n = eq_read(fid, event, buf, len, flags);
	} while (n == -FI_EAGAIN && xiw_fi_sleep(xiw_host_eq_fd(eq->host), deadline));
	return n;
}

static void give_error(struct xiw_fi_eq *eq, const struct xiw_host_event *e,
		       struct fi_eq_err_entry *err)
{
	struct fid *fid = e->context;
	const uint8_t *data;
	const size_t n = xiw_fi_unframe(e, &data);

	err->fid = fid;
	err->context = fid->context;
	err->data = 0;
	err->err = err->prov_errno = -e->status;
	if (err->err_data && err->err_data_size) {
		if (err->err_data_size > n)
			err->err_data_size = n;
		memcpy(err->err_data, data, err->err_data_size);
		return;
	}
	memcpy(eq->err_data, data, n);
	err->err_data = eq->err_data;
	err->err_data_size = n;
}

static bool is_failure_to_take(const struct xiw_host_event *e, size_t peek)
{
	return is_failure(e) && !peek;
}

static ssize_t eq_readerr(struct fid_eq *fid, struct fi_eq_err_entry *err, uint64_t flags)
{
	struct xiw_fi_eq *eq = (struct xiw_fi_eq *)fid;
	struct xiw_host_event e;
	ssize_t n = -FI_EAGAIN;

	pthread_mutex_lock(&eq->lock);
	if (xiw_host_eq_take_if(eq->host, &e, is_failure_to_take, flags & FI_PEEK) &&
	    is_failure(&e)) {
		give_error(eq, &e, err);
		n = sizeof(*err);
	}
	pthread_mutex_unlock(&eq->lock);
	return n;
}

static ssize_t eq_write(struct fid_eq *fid, uint32_t event, const void *buf, size_t len,
			uint64_t flags)
{
	struct xiw_fi_eq *eq = (struct xiw_fi_eq *)fid;
	struct written *w;
	int err;

	if (!eq->writable || flags)
		return -FI_EINVAL;
	w = malloc(sizeof(*w) + len);
	if (!w)
		return -FI_ENOMEM;
	w->event = event;
	w->len = len;
	memcpy(w->data, buf, len);
	err = xiw_host_eq_post(eq->host, &(struct xiw_host_event){ .kind = XIW_HOST_OTHER,
								   .context = eq,
								   .other = (uintptr_t)w });
	if (err)
		free(w);
	return err ? err : (ssize_t)len;
}

static const char *eq_strerror(struct fid_eq *fid, int prov_errno, const void *err_data, char *buf,
			       size_t len)
{
	const char *text = fi_strerror(prov_errno);

	(void)fid;
	(void)err_data;
	if (buf && len) {
		strncpy(buf, text, len - 1);
		buf[len - 1] = 0;
	}
	return text;
}

int xiw_fi_eq_trywait(const struct xiw_fi_eq *eq)
{
	/* Every event makes the descriptor readable. */
	return eq->wait == FI_WAIT_NONE ? -FI_EINVAL : 0;
}

void xiw_fi_eq_purge(struct xiw_fi_eq *eq, struct fid *fid)
{
	pthread_mutex_lock(&eq->lock);
	xiw_host_eq_purge(eq->host, fid);
	pthread_mutex_unlock(&eq->lock);
}

/* ---- open and close ------------------------------------------------------------------------------------------ */

static int eq_close(struct fid *fid)
{
	struct xiw_fi_eq *eq = (struct xiw_fi_eq *)fid;
	struct xiw_fi_fabric *fabric = eq->fabric;
	struct xiw_host_event e;

	if (__atomic_load_n(&eq->users, __ATOMIC_ACQUIRE))
		return -FI_EBUSY;
	/* Endpoints have taken theirs with them: these are fi_eq_write()'s. */
	while (xiw_host_eq_take(eq->host, &e))
		if (e.kind == XIW_HOST_OTHER)
			free(written_of(&e));
	xiw_host_eq_free(eq->host);
	free(eq);
	__atomic_fetch_sub(&fabric->users, 1, __ATOMIC_RELEASE);
	return 0;
}

static int eq_control(struct fid *fid, int command, void *arg)
{
	struct xiw_fi_eq *eq = (struct xiw_fi_eq *)fid;

	return xiw_fi_wait_control(eq->wait, eq->host, command, arg);
}

static struct fi_ops eq_fid_ops = {
	.size = sizeof(eq_fid_ops),
	.close = eq_close,
	.bind = XIW_FI_NONE,
	.control = eq_control,
	.ops_open = XIW_FI_NONE,
	.tostr = XIW_FI_NONE,
	.ops_set = XIW_FI_NONE,
};

static struct fi_ops_eq eq_ops = {
	.size = sizeof(eq_ops),
	.read = eq_read,
	.readerr = eq_readerr,
	.write = eq_write,
	.sread = eq_sread,
	.strerror = eq_strerror,
};

int xiw_fi_eq_open(struct fid_fabric *fid, struct fi_eq_attr *attr, struct fid_eq **eq,
		   void *context)
{
	struct xiw_fi_fabric *fabric = (struct xiw_fi_fabric *)fid;
	const enum fi_wait_obj wait = attr ? attr->wait_obj : FI_WAIT_UNSPEC;
	struct xiw_fi_eq *q;
	int err;

	if (attr && !xiw_fi_vector_fits(attr->flags & ~FI_WRITE, attr->signaling_vector))
		return -FI_EINVAL;
	if (wait != FI_WAIT_NONE && wait != FI_WAIT_UNSPEC && wait != FI_WAIT_FD)
		return -FI_ENOSYS;
	q = calloc(1, sizeof(*q));
	if (!q)
		return -FI_ENOMEM;
	err = xiw_host_eq_create(&q->host);
	if (err) {
		free(q);
		return err;
	}
	q->fid.fid.fclass = FI_CLASS_EQ;
	q->fid.fid.context = context;
	q->fid.fid.ops = &eq_fid_ops;
	q->fid.ops = &eq_ops;
	q->fabric = fabric;
	q->wait = wait;
	q->writable = attr && attr->flags & FI_WRITE;
	pthread_mutex_init(&q->lock, NULL);
	__atomic_fetch_add(&fabric->users, 1, __ATOMIC_RELAXED);
	*eq = &q->fid;
	return 0;
}
