/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The administrator's policy for a host, which applications cannot override. It is in XIW_CONF_FILE, as lines of two
 * words. Blank lines, and text after a '#', are ignored.
 *
 *   crc required    every connection uses CRC32c; this is the default
 *   crc optional    a connection uses none if the application (xiw_conn_opts.no_crc) and the peer both want none
 *   crc off         a connection uses none if the peer wants none
 */
#ifndef XIW_CORE_POLICY_H
#define XIW_CORE_POLICY_H

#include <stddef.h>

#define XIW_CONF_FILE "/etc/xiwarp.conf"

/*
 * RFC 5044 section 4.4: a preference not to use CRCs is indicated "only on the explicit request of the system
 * administrator", and the default is to use them.
 */
enum xiw_crc_policy {
	XIW_CRC_REQUIRED = 0,
	XIW_CRC_OPTIONAL,
	XIW_CRC_OFF,
};

/*
 * Returns the policy in the file `path`. If others than root can write the file, or if a line makes no sense, CRCs are
 * required and `why` says in one line what is wrong. Otherwise `why` is empty.
 */
enum xiw_crc_policy xiw_policy_crc_of(const char *path, char *why, size_t len);

/*
 * Returns the policy of this host. Root may name another file in the environment variable XIW_CONF. It is ignored in a
 * process that got its privilege from its program file (set-user-ID, file capabilities), since a user without privilege
 * may have set the environment.
 */
enum xiw_crc_policy xiw_policy_crc(char *why, size_t len);

#endif
