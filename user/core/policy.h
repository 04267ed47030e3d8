/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the administrator decides for all of a host, whatever an application asks for, in XIW_CONF_FILE. A line has two
 * words; blank lines and comments (from a '#' on) are skipped.
 *
 *   crc required    CRC32c on every connection: as without the file
 *   crc optional    an application may do without, by xiw_conn_opts.no_crc, if its peer does so too
 *   crc off         every connection does without if its peer does so too
 */
#ifndef XIW_ENGINE_POLICY_H
#define XIW_ENGINE_POLICY_H

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
 * A file that anybody but root could have written, or of which one line makes no sense, is not the administrator's
 * word: then CRCs are required, and `why` says what is wrong with it in one line; otherwise it is empty.
 */
enum xiw_crc_policy xiw_policy_crc_of(const char *path, char *why, size_t len);

/*
 * That of this host. Root is the administrator, and may name another file in the environment, XIW_CONF: not so a
 * process with capabilities of its file or with another real user, whose environment may be somebody else's.
 */
enum xiw_crc_policy xiw_policy_crc(char *why, size_t len);

#endif
