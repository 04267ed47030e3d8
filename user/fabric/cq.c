// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Completion queues. They need no size of their own: the host layer's grow with what endpoints can post. Completions
 * are taken a few at a time and held here, because a failure stays until fi_cq_readerr().
 */
#include <stdlib.h>
#include <string.h>

#include "fabric/fabric.h"

#define AT_A_TIME 16u
#define GONE_MAX 256u /* endpoints that are closed, and whose messages may just have been read */

static const uint64_t flags_of[XIW_OPERATION_MAX] = {
	[XIW_OPERATION_SEND] = FI_SEND | FI_MSG,
	[XIW_OPERATION_WRITE] = FI_WRITE | FI_RMA,
	[XIW_OPERATION_READ] = FI_READ | FI_RMA,
	[XIW_OPERATION_RECV] = FI_RECV | FI_MSG,
};

static const int error_of[XIW_CAUSE_MAX] = {
	[XIW_CAUSE_FLUSHED] = FI_ECANCELED,	  [XIW_CAUSE_LOCAL_LENGTH] = FI_ETRUNC,
	[XIW_CAUSE_LOCAL_PROTECTION] = FI_EFAULT, [XIW_CAUSE_LOCAL_ACCESS] = FI_EACCES,
	[XIW_CAUSE_BAD_RESPONSE] = FI_EIO,	  [XIW_CAUSE_REMOTE_INVALID] = FI_EREMOTEIO,
	[XIW_CAUSE_REMOTE_ACCESS] = FI_EACCES,	  [XIW_CAUSE_REMOTE_OPERATION] = FI_EREMOTEIO,
	[XIW_CAUSE_TIMEOUT] = FI_ETIMEDOUT,	  [XIW_CAUSE_NOT_READY] = FI_ENORX,
};

/* What is behind `wake`: a completion, or one of these. */
enum { WAKE_SIGNAL, WAKE_MORE };

/* ---- with the lock ------------------------------------------------------------------------------------------- */

static bool make_room(struct xiw_fi_cq *cq)
{
	const unsigned int room = 2 * (cq->count + AT_A_TIME);
	struct xiw_host_wc *held;

	if (cq->first + cq->count + AT_A_TIME <= cq->room)
		return true;
	held = malloc(room * sizeof(*held));
	if (!held)
		return false;
	if (cq->count)
		memcpy(held, &cq->held[cq->first], cq->count * sizeof(*held));
	free(cq->held);
	cq->held = held;
	cq->room = room;
	cq->first = 0;
	return true;
}

static void pass(struct xiw_fi_cq *cq)
{
	cq->first++;
	cq->count--;
}

static const struct xiw_host_wc *look(struct xiw_fi_cq *cq)
{
	for (;;) {
		if (!cq->count) {
			cq->first = 0;
			cq->count = (unsigned int)xiw_host_cq_poll(cq->host, cq->held, AT_A_TIME);
		}
		if (!cq->count)
			return NULL;
		if (cq->held[cq->first].wr_id != XIW_FI_SILENT)
			return &cq->held[cq->first];
		pass(cq);
	}
}

/* Immediate Data takes a posted buffer, and writes nothing there. */
static uint64_t flags(const struct xiw_host_wc *wc)
{
	return wc->flags & XIW_HOST_WC_IMMEDIATE ? FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA
						 : flags_of[wc->op];
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

static ssize_t cq_read(struct fid_cq *fid, void *buf, size_t count)
{
	struct xiw_fi_cq *cq = (struct xiw_fi_cq *)fid;
	const struct xiw_host_wc *wc;
	size_t n = 0;
	bool failed = false;

	pthread_mutex_lock(&cq->lock);
	while (n < count && (wc = look(cq))) {
		/* The other formats are the beginning of this one. */
		const struct fi_cq_tagged_entry entry = {
			.op_context = (void *)(uintptr_t)wc->wr_id,
			.flags = flags(wc),
			.len = wc->length,
			.data = wc->immediate,
		};

		failed = wc->cause != XIW_CAUSE_NONE;
		if (failed)
			break;
		memcpy((uint8_t *)buf + n++ * cq->entry_size, &entry, cq->entry_size);
		pass(cq);
	}
	pthread_mutex_unlock(&cq->lock);
	if (n)
		return (ssize_t)n;
	return failed ? -FI_EAVAIL : -FI_EAGAIN;
}

static ssize_t cq_readfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src)
{
	const ssize_t n = cq_read(fid, buf, count);

	for (ssize_t i = 0; src && i < n; i++)
		src[i] = FI_ADDR_NOTAVAIL;
	return n;
}

static ssize_t cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *err, uint64_t read_flags)
{
	struct xiw_fi_cq *cq = (struct xiw_fi_cq *)fid;
	const struct xiw_host_wc *wc;
	ssize_t n = -FI_EAGAIN;

	(void)read_flags;
	pthread_mutex_lock(&cq->lock);
	wc = look(cq);
	if (wc && wc->cause != XIW_CAUSE_NONE) {
		err->op_context = (void *)(uintptr_t)wc->wr_id;
		err->flags = flags_of[wc->op];
		err->len = err->olen = 0;
		err->buf = NULL;
		err->data = err->tag = 0;
		err->err = error_of[wc->cause];
		err->prov_errno = wc->cause;
		err->err_data_size = 0;
		pass(cq);
		n = 1;
	}
	pthread_mutex_unlock(&cq->lock);
	return n;
}

static const char *cq_strerror(struct fid_cq *fid, int prov_errno, const void *err_data, char *buf,
			       size_t len)
{
	const char *text = xiw_cause_name((enum xiw_cause)prov_errno);

	(void)fid;
	(void)err_data;
	if (buf && len) {
		strncpy(buf, text, len - 1);
		buf[len - 1] = 0;
	}
	return text;
}

/* ---- waiting --------------------------------------------------------------------------------------------------- */

static bool empty(struct xiw_fi_cq *cq)
{
	bool none;

	pthread_mutex_lock(&cq->lock);
	none = !cq->count && !xiw_host_cq_count(cq->host);
	pthread_mutex_unlock(&cq->lock);
	return none;
}

/* From now on the descriptor becomes readable by new completions only. Returns whether fi_cq_signal() was called. */
static bool arm(struct xiw_fi_cq *cq)
{
	struct xiw_host_event event;
	bool signal = false;

	while (xiw_host_eq_take(cq->wake, &event))
		if (event.kind == XIW_HOST_OTHER && event.other == WAKE_SIGNAL)
			signal = true;
	xiw_host_cq_arm(cq->host, false);
	return signal;
}

static int wake(struct xiw_fi_cq *cq, uint64_t why)
{
	return xiw_host_eq_post(cq->wake, &(struct xiw_host_event){ .kind = XIW_HOST_OTHER,
								    .context = cq,
								    .other = why });
}

static int cq_signal(struct fid_cq *fid)
{
	struct xiw_fi_cq *cq = (struct xiw_fi_cq *)fid;

	return cq->wake ? wake(cq, WAKE_SIGNAL) : -FI_ENOSYS;
}

static ssize_t cq_sreadfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src,
			    const void *cond, int timeout)
{
	struct xiw_fi_cq *cq = (struct xiw_fi_cq *)fid;
	const int64_t deadline = xiw_fi_deadline(timeout);
	bool more = true;
	ssize_t n;

	(void)cond;
	if (!cq->wake)
		return -FI_ENOSYS;
	while ((n = cq_readfrom(fid, buf, count, src)) == -FI_EAGAIN && more) {
		__atomic_fetch_add(&cq->sleepers, 1, __ATOMIC_SEQ_CST);
		more = !arm(cq);
		if (more && empty(cq))
			more = xiw_fi_sleep(xiw_host_eq_fd(cq->wake), deadline);
		__atomic_fetch_sub(&cq->sleepers, 1, __ATOMIC_SEQ_CST);
	}
	/* This thread may have taken the event of several completions, for which others sleep as well. */
	if (__atomic_load_n(&cq->sleepers, __ATOMIC_SEQ_CST) && !empty(cq))
		wake(cq, WAKE_MORE);
	return n;
}

static ssize_t cq_sread(struct fid_cq *fid, void *buf, size_t count, const void *cond, int timeout)
{
	return cq_sreadfrom(fid, buf, count, NULL, cond, timeout);
}

int xiw_fi_cq_trywait(struct xiw_fi_cq *cq)
{
	if (!cq->wake)
		return -FI_EINVAL;
	return arm(cq) || !empty(cq) ? -FI_EAGAIN : 0;
}

static bool has_messages(const struct xiw_fi_cq *cq, const struct xiw_fi_ep *ep)
{
	for (unsigned int i = 0; i < cq->count; i++) {
		const struct xiw_host_wc *wc = &cq->held[cq->first + i];

		if (wc->context == ep && wc->op == XIW_OPERATION_RECV &&
		    wc->cause == XIW_CAUSE_NONE)
			return true;
	}
	return false;
}

bool xiw_fi_cq_keep(struct xiw_fi_cq *cq, const struct xiw_fi_ep *ep)
{
	bool some, messages;

	pthread_mutex_lock(&cq->lock);
	while (xiw_host_cq_count(cq->host) && make_room(cq))
		cq->count += (unsigned int)xiw_host_cq_poll(
			cq->host, &cq->held[cq->first + cq->count], AT_A_TIME);
	some = cq->count;
	messages = has_messages(cq, ep);
	pthread_mutex_unlock(&cq->lock);
	if (some && cq->wake)
		wake(cq, WAKE_MORE);
	return messages;
}

static struct xiw_fi_ep *dig_up(struct xiw_fi_cq *cq)
{
	struct xiw_fi_ep *ep = cq->gone;

	if (!ep)
		return NULL;
	cq->gone = ep->next_gone;
	cq->ngone--;
	return ep;
}

/* One whose messages were read long ago is needed no more: peers that come and go must not fill the memory. */
void xiw_fi_cq_bury(struct xiw_fi_cq *cq, struct xiw_fi_ep *ep)
{
	pthread_mutex_lock(&cq->lock);
	ep->next_gone = NULL;
	if (cq->gone)
		cq->last_gone->next_gone = ep;
	else
		cq->gone = ep;
	cq->last_gone = ep;
	cq->ngone++;
	while (cq->ngone > GONE_MAX && !has_messages(cq, cq->gone))
		free(dig_up(cq));
	pthread_mutex_unlock(&cq->lock);
}

/* ---- open and close -------------------------------------------------------------------------------------------- */

static int cq_close(struct fid *fid)
{
	struct xiw_fi_cq *cq = (struct xiw_fi_cq *)fid;
	struct xiw_fi_ep *ep;
	int err;

	if (__atomic_load_n(&cq->users, __ATOMIC_ACQUIRE))
		return -FI_EBUSY;
	err = xiw_host_cq_free(cq->host);
	if (err)
		return err;
	xiw_host_eq_free(cq->wake);
	free(cq->held);
	while ((ep = dig_up(cq)))
		free(ep);
	__atomic_fetch_sub(&cq->domain->users, 1, __ATOMIC_RELEASE);
	free(cq);
	return 0;
}

static int cq_control(struct fid *fid, int command, void *arg)
{
	struct xiw_fi_cq *cq = (struct xiw_fi_cq *)fid;

	return xiw_fi_wait_control(cq->wait, cq->wake, command, arg);
}

static struct fi_ops cq_fid_ops = {
	.size = sizeof(cq_fid_ops),
	.close = cq_close,
	.bind = XIW_FI_NONE,
	.control = cq_control,
	.ops_open = XIW_FI_NONE,
	.tostr = XIW_FI_NONE,
	.ops_set = XIW_FI_NONE,
};

static struct fi_ops_cq cq_ops = {
	.size = sizeof(cq_ops),
	.read = cq_read,
	.readfrom = cq_readfrom,
	.readerr = cq_readerr,
	.sread = cq_sread,
	.sreadfrom = cq_sreadfrom,
	.signal = cq_signal,
	.strerror = cq_strerror,
};

static const size_t entry_size[] = {
	[FI_CQ_FORMAT_UNSPEC] = sizeof(struct fi_cq_entry),
	[FI_CQ_FORMAT_CONTEXT] = sizeof(struct fi_cq_entry),
	[FI_CQ_FORMAT_MSG] = sizeof(struct fi_cq_msg_entry),
	[FI_CQ_FORMAT_DATA] = sizeof(struct fi_cq_data_entry),
	[FI_CQ_FORMAT_TAGGED] = sizeof(struct fi_cq_tagged_entry),
};

static int make_host(struct xiw_fi_cq *cq)
{
	int err = cq->wait == FI_WAIT_NONE ? 0 : xiw_host_eq_create(&cq->wake);

	if (!err)
		err = xiw_host_cq_create(cq->wake, cq, &cq->host);
	if (err)
		xiw_host_eq_free(cq->wake);
	return err;
}

int xiw_fi_cq_open(struct fid_domain *fid, struct fi_cq_attr *attr, struct fid_cq **cq,
		   void *context)
{
	struct xiw_fi_domain *domain = (struct xiw_fi_domain *)fid;
	struct xiw_fi_cq *q;
	int err;

	if (!xiw_fi_vector_fits(attr->flags, attr->signaling_vector))
		return -FI_EINVAL;
	if (attr->format > FI_CQ_FORMAT_TAGGED || attr->wait_cond != FI_CQ_COND_NONE ||
	    (attr->wait_obj != FI_WAIT_NONE && attr->wait_obj != FI_WAIT_UNSPEC &&
	     attr->wait_obj != FI_WAIT_FD))
		return -FI_ENOSYS;
	q = calloc(1, sizeof(*q));
	if (!q)
		return -FI_ENOMEM;
	q->wait = attr->wait_obj;
	err = make_room(q) ? make_host(q) : -FI_ENOMEM;
	if (err) {
		free(q->held);
		free(q);
		return err;
	}
	q->fid.fid.fclass = FI_CLASS_CQ;
	q->fid.fid.context = context;
	q->fid.fid.ops = &cq_fid_ops;
	q->fid.ops = &cq_ops;
	q->domain = domain;
	q->entry_size = entry_size[attr->format];
	pthread_mutex_init(&q->lock, NULL);
	__atomic_fetch_add(&domain->users, 1, __ATOMIC_RELAXED);
	*cq = &q->fid;
	return 0;
}
