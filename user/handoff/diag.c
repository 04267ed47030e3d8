// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "handoff/diag.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>

#include "handoff/key.h"
#include "netif/netlink.h"

struct answer {
	__be16 remote_port;
	int state;
	bool live;
};

static void take_socket(const struct nlmsghdr *n, void *ctx)
{
	const struct inet_diag_msg *m = NLMSG_DATA(n);
	struct answer *a = ctx;

	/* Where no socket has these addresses, the kernel answers with a listener on the port. */
	if (n->nlmsg_type != SOCK_DIAG_BY_FAMILY || m->id.idiag_dport != a->remote_port)
		return;
	a->state = m->idiag_state;
	/* A socket without an inode is open in no process, of whichever PID namespace. */
	a->live = m->idiag_inode || m->idiag_wqueue;
}

/*
 * A socket that is bound to an interface, as one with a link-local address is, is found only if that is named; others
 * are found in either case. One that is bound to another interface than its packets come by, such as a VRF, is not.
 */
static int ask(const struct xiw_flow *flow, struct answer *answer)
{
	const struct xiw_flow_key *key = &flow->key;
	const bool v4 = xiw_flow_key_v4(key);
	const size_t at = v4 ? 3 : 0, len = v4 ? 4 : 16;
	struct {
		struct nlmsghdr n;
		struct inet_diag_req_v2 req;
	} request = {
		.n = { .nlmsg_len = sizeof(request),
		       .nlmsg_type = SOCK_DIAG_BY_FAMILY,
		       .nlmsg_flags = NLM_F_REQUEST },
		.req = { .sdiag_family = v4 ? AF_INET : AF_INET6,
			 .sdiag_protocol = IPPROTO_TCP,
			 .idiag_states = ~0u,
			 .id = { .idiag_sport = key->local_port,
				 .idiag_dport = key->remote_port,
				 .idiag_if = flow->ifindex,
				 .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } } },
	};
	int err;

	memcpy(request.req.id.idiag_src, key->local_addr + at, len);
	memcpy(request.req.id.idiag_dst, key->remote_addr + at, len);
	*answer = (struct answer){ .remote_port = key->remote_port };
	err = xiw_netlink_ask(NETLINK_SOCK_DIAG, &request.n, take_socket, answer);
	return err == -ENOENT ? 0 : err;
}

int xiw_flow_socket_state(const struct xiw_flow *flow)
{
	struct answer answer;
	int err = ask(flow, &answer);

	return err ? err : answer.state;
}

int xiw_flow_socket_live(const struct xiw_flow *flow)
{
	struct answer answer;
	int err = ask(flow, &answer);

	return err ? err : answer.live;
}
