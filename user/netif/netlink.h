/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests to the kernel by netlink. */
#ifndef XIW_NETIF_NETLINK_H
#define XIW_NETIF_NETLINK_H

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Sends @request over @protocol (NETLINK_ROUTE or another), and calls @take with the message of the answer, or, if the
 * request has NLM_F_DUMP, with each message. 0, or a negative errno, which may be the kernel's answer.
 */
int xiw_netlink_ask(int protocol, const struct nlmsghdr *request,
		    void (*take)(const struct nlmsghdr *n, void *ctx), void *ctx);

/*
 * Puts an attribute with @len octets of @value behind the request, which grows by it: there must be room. Returns it;
 * those that are put behind an empty one may be nested in it (rta_len).
 */
struct rtattr *xiw_netlink_put(struct nlmsghdr *request, uint16_t type, const void *value,
			       size_t len);

/* The attribute of this type among @len octets of attributes; NULL: there is none. */
const struct rtattr *xiw_netlink_attr(const struct rtattr *a, int len, int type);
/* The same among an interface's attributes in a message of rtnetlink, and among those nested in another attribute. */
const struct rtattr *xiw_netlink_link_attr(const struct nlmsghdr *n, int type);
const struct rtattr *xiw_netlink_nested(const struct rtattr *a, int type);
/* An attribute's number; 0 if it is NULL or too short. */
uint32_t xiw_netlink_u32(const struct rtattr *a);

#endif
