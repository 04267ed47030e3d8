// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "address.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exit.h"
#include "signals.h"
#include "text.h"

/* "%IF" behind a link-local address (RFC 4007 section 11), which says little without it. */
static const char *zone_of(const struct sockaddr_in6 *in6, char buf[IF_NAMESIZE + 1])
{
	char name[IF_NAMESIZE];

	*buf = '\0';
	if (!in6->sin6_scope_id || !IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr))
		return buf;
	if (!if_indextoname(in6->sin6_scope_id, name))
		snprintf(name, sizeof(name), "%u", in6->sin6_scope_id);
	snprintf(buf, IF_NAMESIZE + 1, "%%%s", name);
	return buf;
}

const char *xiw_addr_name(const struct sockaddr_storage *addr, char buf[80])
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	const struct sockaddr_in *in = (const void *)addr;
	char text[INET6_ADDRSTRLEN] = "?", zone[IF_NAMESIZE + 1];

	if (addr->ss_family == AF_INET) {
		inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text));
		snprintf(buf, 80, "%s:%u", text, ntohs(in->sin_port));
	} else if (addr->ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
		inet_ntop(AF_INET, &in6->sin6_addr.s6_addr[12], text, sizeof(text));
		snprintf(buf, 80, "%s:%u", text, ntohs(in6->sin6_port));
	} else if (addr->ss_family == AF_INET6) {
		inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof(text));
		snprintf(buf, 80, "[%s%s]:%u", text, zone_of(in6, zone), ntohs(in6->sin6_port));
	} else {
		snprintf(buf, 80, "?");
	}
	return buf;
}

/* Splits at the last colon, unless the text is a bare IPv6 address. */
static bool split_host_port(const char *text, char *host, size_t len, const char **port)
{
	const char *colon = strrchr(text, ':'), *end = text + strlen(text);

	*port = XIW_PORT;
	if (*text == '[') {
		const char *close = strchr(++text, ']');

		if (!close || (close[1] && close[1] != ':'))
			return false;
		if (close[1])
			*port = close + 2;
		end = close;
	} else if (colon && strchr(text, ':') == colon) {
		*port = colon + 1;
		end = colon;
	}
	if (!**port || (size_t)(end - text) >= len)
		return false;
	memcpy(host, text, end - text);
	host[end - text] = '\0';
	return true;
}

int xiw_resolve(const char *text, bool passive, struct addrinfo **list)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
				  .ai_protocol = IPPROTO_TCP,
				  .ai_flags = passive ? AI_PASSIVE : 0 };
	char host[256], shown[256];
	const char *port;
	int err;

	if (!split_host_port(text, host, sizeof(host), &port) || (!passive && !*host))
		return xiw_fail(XIW_EXIT_USAGE, "'%s' is not HOST, HOST:PORT or [ADDRESS]:PORT",
				xiw_printable(text, shown, sizeof(shown)));
	if (strspn(port, "0123456789") != strlen(port) || strlen(port) > 5 || atoi(port) > 65535)
		return xiw_fail(XIW_EXIT_USAGE, "'%s' is not a port number: 0 to 65535",
				xiw_printable(port, shown, sizeof(shown)));
	/* Without a host, the IPv6 wildcard, which takes IPv4 too; a kernel without IPv6 has only IPv4's. */
	if (!*host)
		hints.ai_family = AF_INET6;
	if (!xiw_uncatch_signals())
		return xiw_exit_stopped(0);
	err = getaddrinfo(*host ? host : NULL, port, &hints, list);
	if (err && !*host) {
		hints.ai_family = AF_INET;
		err = getaddrinfo(NULL, port, &hints, list);
	}
	xiw_recatch_signals();
	if (err)
		return xiw_fail(passive ? XIW_EXIT_FAILURE : XIW_EXIT_PEER,
				"cannot resolve '%s': %s",
				xiw_printable(host, shown, sizeof(shown)), gai_strerror(err));
	return 0;
}
