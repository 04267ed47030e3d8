/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rows of option tables that several receivers have. */
#ifndef XIW_TOOL_RECEIVER_OPTS_H
#define XIW_TOOL_RECEIVER_OPTS_H

#include <xiwarp/group.h>

#include "address.h"
#include "args.h"

/* receiver.c */
extern const struct xiw_word xiw_path_words[], xiw_crc_words[];

#define XIW_OPT_PATH                                                                               \
	{                                                                                          \
		"path", .arg = "PATH",                                                             \
			.help = "auto (direct where the interface has the programs, else "         \
				"kernel), "                                                        \
				"kernel, or direct (refuse connections that cannot go direct); "   \
				"default auto",                                                    \
			XIW_WORD(receiver.path, xiw_path_words)                                    \
	}
#define XIW_OPT_PEER_TIMEOUT                                                                       \
	{                                                                                          \
		"peer-timeout", .arg = "SECONDS",                                                  \
				.help = "end a connection whose peer does not answer, or does "    \
					"not read, for this "                                      \
					"long; default 30",                                        \
				XIW_NUMBER(receiver.peer_timeout, 1, 86400)                        \
	}
#define XIW_OPT_TRUST_CHECKSUM                                                                     \
	{                                                                                          \
		"trust-checksum",                                                                  \
			.help = "do not verify TCP checksums on the direct path: the interface "   \
				"has done "                                                        \
				"so, or the wire is a virtual one whose sender leaves them "       \
				"unfinished "                                                      \
				"(those of a veth are accepted in any case)",                      \
			XIW_FLAG(receiver.trust_checksum)                                          \
	}
#define XIW_OPT_MARKERS                                                                            \
	{                                                                                          \
		"markers", .help = "ask the peer for MPA markers", XIW_FLAG(mpa.markers)           \
	}
#define XIW_OPT_CRC                                                                                \
	{                                                                                          \
		"crc", .arg = "on|off",                                                            \
		       .help = "off: do without CRC32c if the peer asks for none either and the "  \
			       "administrator allows it in /etc/xiwarp.conf; otherwise say so "    \
			       "and use "                                                          \
			       "it; default on",                                                   \
		       XIW_WORD(mpa.crc_off, xiw_crc_words)                                        \
	}

#define XIW_OPT_THREADS                                                                            \
	{                                                                                          \
		"threads", .arg = "N",                                                             \
			   .help = "receive with N threads, which share the interface's receive "  \
				   "queues; default: one for each queue, but no more than CPUs, "  \
				   "and one with --path kernel",                                   \
			   XIW_NUMBER(receiver.threads, 1, XIW_GROUP_ENGINES_MAX)                  \
	}

/* What one peer may take of a receiver, for the text of its command. */
#define XIW_SHARE_TEXT                                                                             \
	"One peer (an IPv4 address or an IPv6 /64) gets no more than half of the "                 \
	"connections that others leave of those for which there are descriptors (ulimit -n)."

/* serve and sink. */
#define XIW_RECEIVER_OPTS                                                                          \
	{ "listen", .arg = "ADDR[:PORT]",                                                          \
	  .help = "where to listen; default: any address, port " XIW_PORT,                         \
	  XIW_TEXT(receiver.listen, 0, SIZE_MAX, "an address") },                                  \
		XIW_OPT_PATH,                                                                      \
		{ "once",                                                                          \
		  .help = "end when a connection has ended, also if its startup failed, and no "   \
			  "other is open",                                                         \
		  XIW_FLAG(receiver.once) },                                                       \
		XIW_OPT_PEER_TIMEOUT, XIW_OPT_THREADS, XIW_OPT_TRUST_CHECKSUM

#endif
