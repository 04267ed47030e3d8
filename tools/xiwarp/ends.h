/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How connections end, in words. */
#ifndef XIW_TOOL_ENDS_H
#define XIW_TOOL_ENDS_H

#include <stdbool.h>

#include <xiwarp/conn.h>
#include <xiwarp/engine.h>
#include <xiwarp/rdmap.h>

/* The errors that a connection ended with, by the RFCs' numbers; NULL if it ended orderly. */
const char *xiw_end_text(const struct xiw_conn_info *info, char buf[256]);
/* Why an RDMAP Stream is in error: by this end's Terminate message, if there is one, or by the peer's (`peers`). */
void xiw_stream_error_text(const struct xiw_rdma *rdma, const struct xiw_conn *conn, bool peers,
			   char *buf, size_t len);
/* Says that no connection to `target` came about; @err is a negative errno. Returns an exit code. */
int xiw_cannot_connect(const char *target, int err);
/* Says why a connection to `target`, where `command` should run, was not established; returns an exit code. */
int xiw_connect_failed(const char *target, const struct xiw_conn_info *info, const char *command);
/*
 * An event of a connection that no command has accepted, or of a listener of @engine. Says why a listener could not
 * take a connection, or why one ended before its Request came: that one is freed, and the result is true.
 */
bool xiw_unaccepted_ended(const struct xiw_engine *engine, const struct xiw_completion *c);

#endif
