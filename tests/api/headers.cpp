// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A C++ program that uses the library: an engine talks to itself over lo. Prints nothing. */
#include <arpa/inet.h>
#include <cstring>
#include <netinet/in.h>

#include <xiwarp/xiwarp.h>

namespace
{

struct ends {
	xiw_engine *engine;
	xiw_region *region;
	char memory[64];
	bool written, closed;
};

void take(ends &e, const xiw_completion &c)
{
	xiw_message m = {};

	switch (c.event) {
	case XIW_EV_REQUEST:
		xiw_conn_accept(c.conn, nullptr, 0);
		break;
	case XIW_EV_CONNECTED:
		if (!c.user_data)
			break;
		m.buf = "from C++";
		m.len = 8;
		m.tagged = true;
		m.stag = xiw_region_stag(e.region);
		xiw_conn_send(c.conn, &m);
		xiw_conn_close(c.conn);
		break;
	case XIW_EV_WRITTEN:
		e.written = c.length == 8 && !std::memcmp(e.memory, "from C++", 8);
		break;
	case XIW_EV_EOF:
		xiw_conn_close(c.conn);
		break;
	case XIW_EV_CLOSED:
		e.closed = e.closed || c.user_data;
		xiw_conn_free(c.conn);
		break;
	default:
		break;
	}
}

int talk(ends &e)
{
	xiw_conn_opts opts = {};
	sockaddr_in to = {};
	sockaddr_storage bound;
	socklen_t len;
	xiw_listener *listener;
	xiw_completion c;
	xiw_conn *conn;

	opts.size = sizeof(opts);
	to.sin_family = AF_INET;
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (xiw_listen(e.engine, reinterpret_cast<sockaddr *>(&to), sizeof(to), &opts, &listener) ||
	    xiw_listener_addr(listener, &bound, &len))
		return 1;
	opts.user_data = 1;
	if (xiw_connect(e.engine, reinterpret_cast<sockaddr *>(&bound), len, &opts, &conn))
		return 1;
	for (int i = 0; i < 1000 && !(e.written && e.closed); i++) {
		if (xiw_engine_run(e.engine, 10) < 0)
			return 1;
		while (xiw_engine_next(e.engine, &c))
			take(e, c);
	}
	return e.written && e.closed ? 0 : 1;
}

} // namespace

int main()
{
	xiw_engine_opts opts = {};
	xiw_region_opts ropts = {};
	ends e = {};
	int ret;

	opts.size = sizeof(opts);
	opts.path = XIW_USE_KERNEL;
	ropts.size = sizeof(ropts);
	ropts.access = XIW_ACCESS_WRITE | XIW_ACCESS_READ;
	if (xiw_engine_create(&opts, &e.engine) ||
	    xiw_region_register(e.engine, e.memory, sizeof(e.memory), &ropts, &e.region) ||
	    !*xiw_mpa_error_name(XIW_MPA_ERR_CRC) || !xiw_stat_name(0) || !xiw_reason_name(0))
		return 1;
	ret = talk(e);
	xiw_region_free(e.region);
	return xiw_engine_destroy(e.engine) || ret;
}
