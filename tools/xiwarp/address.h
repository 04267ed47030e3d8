/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_TOOL_ADDRESS_H
#define XIW_TOOL_ADDRESS_H

#include <netdb.h>
#include <stdbool.h>
#include <sys/socket.h>

/* RFC 5044's number plus 10000: not assigned, not privileged, and below Linux's ephemeral ports. */
#define XIW_PORT "15044"

/* "a.b.c.d:port", "[addr]:port" or "[addr%zone]:port"; an IPv4-mapped address is shown as IPv4. */
const char *xiw_addr_name(const struct sockaddr_storage *addr, char buf[80]);

/*
 * Resolves "HOST", "HOST:PORT", "[ADDR]:PORT", "V6ADDR" or (passive) "". Returns 0 and a list for freeaddrinfo(); on
 * failure prints a line and returns an exit code.
 */
int xiw_resolve(const char *text, bool passive, struct addrinfo **list);

#endif
