// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ends.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "address.h"
#include "exit.h"
#include "telling.h"

const char *xiw_end_text(const struct xiw_conn_info *info, char buf[256])
{
	int n = 0;

	if (info->mpa_error)
		n += snprintf(buf + n, 256 - n, "MPA error %u (%s)", info->mpa_error,
			      xiw_mpa_error_name(info->mpa_error));
	if (info->ddp_error)
		n += snprintf(buf + n, 256 - n, "%sDDP error type %u code 0x%02x (%s)",
			      n ? ", " : "", info->ddp_error >> 8 & 0xff, info->ddp_error & 0xff,
			      xiw_ddp_error_name(info->ddp_error));
	if (info->error == EUNATCH && *info->no_direct)
		n += snprintf(buf + n, 256 - n, "%s%s", n ? ", " : "", info->no_direct);
	else if (info->error)
		n += snprintf(buf + n, 256 - n, "%s%s", n ? ", " : "", strerror(info->error));
	return n ? buf : NULL;
}

void xiw_stream_error_text(const struct xiw_rdma *rdma, const struct xiw_conn *conn, bool peers,
			   char *buf, size_t len)
{
	const struct xiw_rdma_terminate_info *t;
	struct xiw_rdma_info stream;
	struct xiw_conn_info info;
	char text[256];
	const char *why;

	xiw_rdma_info(rdma, &stream, sizeof(stream));
	t = peers ? &stream.received : &stream.sent;
	if (t->present) {
		snprintf(buf, len, "%s: layer %u, type %u, code 0x%02x, %s",
			 peers ? "the peer terminated" : "the stream is in error, Terminate sent",
			 t->layer, t->etype, t->code, xiw_rdma_terminate_name(t));
		return;
	}
	/* The peer had ended the connection before it could be told. */
	xiw_conn_info(conn, &info, sizeof(info));
	why = xiw_end_text(&info, text);
	snprintf(buf, len, "the stream is in error: %s", why ? why : "the peer broke the protocol");
}

/* The same for a connection that ended during MPA startup. */
static const char *startup_text(const struct xiw_conn_info *info, char buf[256])
{
	if (info->error == ETIMEDOUT)
		return info->mpa_error == XIW_MPA_ERR_STARTUP
			       ? "the peer did not complete MPA startup in time"
			       : "the peer does not answer any more";
	if (info->mpa_error == XIW_MPA_ERR_CLOSED)
		return "closed before MPA startup was complete";
	return xiw_end_text(info, buf);
}

int xiw_cannot_connect(const char *target, int err)
{
	const bool here = err == -EMFILE || err == -ENFILE || err == -ENOMEM || err == -ENOBUFS;

	return xiw_fail(here ? XIW_EXIT_FAILURE : XIW_EXIT_PEER, "cannot connect to %s: %s%s",
			target, strerror(-err), xiw_remedy(err));
}

int xiw_connect_failed(const char *target, const struct xiw_conn_info *info, const char *command)
{
	char text[256];
	const char *why;

	if (info->rejected)
		return xiw_fail(XIW_EXIT_PEER, "%s refuses the connection", target);
	if (!info->connected)
		return xiw_cannot_connect(target, info->error ? -info->error : -ECONNREFUSED);
	why = startup_text(info, text);
	if (info->mpa_error == XIW_MPA_ERR_IRD || info->mpa_error == XIW_MPA_ERR_RTR)
		return xiw_fail(XIW_EXIT_PEER, "connected to %s, whose MPA Reply is wrong: %s",
				target, why);
	return xiw_fail(XIW_EXIT_PEER,
			"connected to %s, which does not speak MPA (%s): is '%s' there?", target,
			why ? why : "closed before MPA startup was complete", command);
}

static void startup_failed(struct xiw_conn *conn)
{
	struct xiw_conn_info info;
	char text[256], name[80];
	const char *why;

	xiw_conn_info(conn, &info, sizeof(info));
	why = startup_text(&info, text);
	if (xiw_may_tell())
		xiw_fail(0, "%s: no connection: %s%s%s", xiw_addr_name(&info.remote, name),
			 why ? why : "closed before MPA startup was complete",
			 *info.no_direct ? "; no direct path: " : "", info.no_direct);
	xiw_conn_free(conn);
}

/* The event itself is limited in rate, and tells why honest peers may find less room. */
static void share_used(const struct xiw_engine *engine)
{
	struct xiw_engine_info info;
	char name[80];

	xiw_engine_info(engine, &info, sizeof(info));
	xiw_fail(0, "%s: has its share of connections; %" PRIu64 " refused so far%s",
		 xiw_addr_name(&info.share_peer, name), info.share_refused, xiw_remedy(-EMFILE));
}

bool xiw_unaccepted_ended(const struct xiw_engine *engine, const struct xiw_completion *c)
{
	if (c->event == XIW_EV_NOT_ACCEPTED && c->status == -EDQUOT)
		share_used(engine);
	else if (c->event == XIW_EV_NOT_ACCEPTED && xiw_may_tell())
		xiw_fail(0, "a connection could not be taken: %s%s; the others go on",
			 strerror(-c->status), xiw_remedy(c->status));
	if (c->event != XIW_EV_CLOSED)
		return false;
	startup_failed(c->conn);
	return true;
}
