/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What programs here do when a stream ends. */
#ifndef XIW_TESTS_NET_ENDED_H
#define XIW_TESTS_NET_ENDED_H

#include <xiwarp/conn.h>

/* After an error the connection is aborted, and after the peer's end it is closed. Other events are none of these. */
static inline void follow_end(const struct xiw_completion *c)
{
	if (c->event == XIW_EV_ERROR)
		xiw_conn_abort(c->conn);
	else if (c->event == XIW_EV_EOF)
		xiw_conn_close(c->conn);
}

#endif
