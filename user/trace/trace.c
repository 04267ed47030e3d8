// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * `xiwarp run --trace`: a library in front of the verbs front (and of everything else) that tells what a program calls
 * and what it gets, a line for each call. Nothing else is changed, so it works with other RDMA libraries, too.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "trace/trace.h"

/* ---- lines --------------------------------------------------------------------------------------------- */

/* One write(2) for each line, so that those of several threads do not mix. The caller's errno stays. */
static void say(const char *format, ...)
{
	int saved = errno;
	struct timespec now;
	char line[512];
	va_list args;
	size_t n;

	clock_gettime(CLOCK_MONOTONIC, &now);
	n = (size_t)snprintf(line, sizeof(line), "%d.%d %ld.%06ld ", getpid(), gettid(),
			     (long)now.tv_sec, now.tv_nsec / 1000);
	va_start(args, format);
	n += (size_t)vsnprintf(line + n, sizeof(line) - n, format, args);
	va_end(args);
	if (n > sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	n = (size_t)write(STDERR_FILENO, line, n);
	errno = saved;
}

void xiw_trace_call(const char *name, const uintptr_t *args, unsigned int n, const char *result)
{
	char text[256] = "";
	size_t len = 0;

	for (unsigned int i = 0; i < n && len < sizeof(text); i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					args[i] < 65536 ? "%s%ju" : "%s%#jx", i ? ", " : "",
					(uintmax_t)args[i]);
	say("%s(%s)%s", name, text, result);
}

/* 0, -1 with errno, or an errno: a number that has a name is shown with it. */
const char *xiw_trace_int(char *text, size_t len, long result)
{
	int number = result == -1 ? errno : result < 0 ? (int)-result : (int)result;
	const char *name = result ? strerrorname_np(number) : NULL;

	snprintf(text, len, " = %ld%s%s", result, name ? " " : "", name ? name : "");
	return text;
}

const char *xiw_trace_pointer(char *text, size_t len, const void *result)
{
	if (result)
		snprintf(text, len, " = %p", result);
	else
		snprintf(text, len, " = NULL %s", errno ? strerrorname_np(errno) : "");
	return text;
}

/* ---- more than numbers ----------------------------------------------------------------------------------- */

static const char *address(const struct sockaddr *addr, char *text, size_t len)
{
	const struct sockaddr_in *a4 = (const void *)addr;
	const struct sockaddr_in6 *a6 = (const void *)addr;
	char ip[INET6_ADDRSTRLEN] = "?", zone[16] = "";

	if (!addr)
		return "NULL";
	if (addr->sa_family == AF_INET)
		inet_ntop(AF_INET, &a4->sin_addr, ip, sizeof(ip));
	else if (addr->sa_family == AF_INET6)
		inet_ntop(AF_INET6, &a6->sin6_addr, ip, sizeof(ip));
	if (addr->sa_family == AF_INET6 && a6->sin6_scope_id)
		snprintf(zone, sizeof(zone), "%%%u", a6->sin6_scope_id);
	snprintf(text, len, addr->sa_family == AF_INET6 ? "[%s%s]:%u" : "%s%s:%u", ip, zone,
		 ntohs(a4->sin_port)); /* at the same place in both */
	return text;
}

XIW_TRACED int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	int rc = XIW_NEXT(rdma_bind_addr)(id, addr);
	char text[64], at[80];

	say("rdma_bind_addr(%p, %s)%s", (void *)id, address(addr, at, sizeof(at)),
	    xiw_trace_int(text, sizeof(text), rc));
	return rc;
}

XIW_TRACED int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *src, struct sockaddr *dst,
				 int timeout_ms)
{
	int rc = XIW_NEXT(rdma_resolve_addr)(id, src, dst, timeout_ms);
	char text[64], from[80], to[80];

	say("rdma_resolve_addr(%p, %s, %s, %d)%s", (void *)id, address(src, from, sizeof(from)),
	    address(dst, to, sizeof(to)), timeout_ms, xiw_trace_int(text, sizeof(text), rc));
	return rc;
}

XIW_TRACED int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	int rc = XIW_NEXT(rdma_get_cm_event)(channel, event);
	char text[64];

	xiw_trace_int(text, sizeof(text), rc);
	if (rc)
		say("rdma_get_cm_event(%p)%s", (void *)channel, text);
	else
		say("rdma_get_cm_event(%p)%s: %s, status %d, id %p", (void *)channel, text,
		    rdma_event_str((*event)->event), (*event)->status, (void *)(*event)->id);
	return rc;
}

XIW_TRACED int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int rc = XIW_NEXT(ibv_modify_qp)(qp, attr, mask);
	char text[64];

	say("ibv_modify_qp(%p, state %d, mask %#x)%s", (void *)qp,
	    mask & IBV_QP_STATE ? (int)attr->qp_state : -1, (unsigned int)mask,
	    xiw_trace_int(text, sizeof(text), rc));
	return rc;
}

/* ---- work: programs reach these functions through the context --------------------------------------------- */

static struct ibv_context_ops next;

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	int rc = next.post_send(qp, wr, bad);
	char text[64];

	say("ibv_post_send(%p, wr_id %#jx, opcode %d, flags %#x, %d sge)%s", (void *)qp,
	    (uintmax_t)wr->wr_id, (int)wr->opcode, wr->send_flags, wr->num_sge,
	    xiw_trace_int(text, sizeof(text), rc));
	return rc;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	int rc = next.post_recv(qp, wr, bad);
	char text[64];

	say("ibv_post_recv(%p, wr_id %#jx, %d sge)%s", (void *)qp, (uintmax_t)wr->wr_id,
	    wr->num_sge, xiw_trace_int(text, sizeof(text), rc));
	return rc;
}

/* An empty queue is no news. */
static int poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	int got = next.poll_cq(cq, n, wc);

	for (int i = 0; i < got; i++)
		say("ibv_poll_cq(%p): wr_id %#jx, %s, opcode %d, %u octets", (void *)cq,
		    (uintmax_t)wc[i].wr_id, ibv_wc_status_str(wc[i].status), (int)wc[i].opcode,
		    wc[i].byte_len);
	return got;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	int rc = next.req_notify_cq(cq, solicited_only);
	char text[64];

	say("ibv_req_notify_cq(%p, %d)%s", (void *)cq, solicited_only,
	    xiw_trace_int(text, sizeof(text), rc));
	return rc;
}

/* All devices of one library have the same functions; with several, those of the first are traced. */
XIW_TRACED struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct ibv_context *context = XIW_NEXT(ibv_open_device)(device);
	char text[64];

	say("ibv_open_device(%s)%s", device->name, xiw_trace_pointer(text, sizeof(text), context));
	if (!context)
		return NULL;
	pthread_mutex_lock(&lock);
	if (!next.poll_cq)
		next = context->ops;
	if (next.poll_cq == context->ops.poll_cq) {
		context->ops.post_send = post_send;
		context->ops.post_recv = post_recv;
		context->ops.poll_cq = poll_cq;
		context->ops.req_notify_cq = req_notify_cq;
	}
	pthread_mutex_unlock(&lock);
	return context;
}
