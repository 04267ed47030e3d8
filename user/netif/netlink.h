/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Questions to the kernel by netlink. */
#ifndef XIW_NETIF_NETLINK_H
#define XIW_NETIF_NETLINK_H

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdint.h>

/*
 * Sends @request by @protocol (NETLINK_ROUTE or the like), and calls @take with each message of the answer: with one, or
 * for a request with NLM_F_DUMP with as many as there are. 0, or the errno that the kernel answers, negative.
 */
int xiw_netlink_ask(int protocol, const struct nlmsghdr *request,
		    void (*take)(const struct nlmsghdr *n, void *ctx), void *ctx);

/* The attribute of that type among @len octets of them; NULL: there is none. */
const struct rtattr *xiw_netlink_attr(const struct rtattr *a, int len, int type);
/* The same among an interface's attributes in a message of rtnetlink's, and within another attribute. */
const struct rtattr *xiw_netlink_link_attr(const struct nlmsghdr *n, int type);
const struct rtattr *xiw_netlink_nested(const struct rtattr *a, int type);
/* An attribute's number; 0 if it is NULL or too short. */
uint32_t xiw_netlink_u32(const struct rtattr *a);

#endif
