// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "core/policy.h"
#include "help.h"

const char xiw_help_tagline[] = "receive iWARP (MPA, DDP) through XDP and AF_XDP";

const char xiw_help_about[] =
	"xiwarp turns an ordinary XDP-capable network interface into a software iWARP receiver. "
	"TCP segments that carry whole, aligned FPDUs (MPA, RFC 5044) leave the kernel in the "
	"driver, over AF_XDP, and are CRC-checked and placed straight into the application's "
	"memory (DDP, RFC 5041). This is the direct path. All other segments take the kernel's "
	"TCP socket, the kernel path. Nothing changes at the peer.\n\n"
	"Load the programs once on the interface that receives, then start a receiver, which "
	"finds them by itself. Without the programs, or without the privilege to use them, a "
	"receiver takes the kernel path and says why. Where a sysctl or a seccomp "
	"profile forbids io_uring, both paths use epoll in its place, and status says so.";

const char xiw_help_first_steps[] =
	"sudo xiwarp load eth0\n"
	"sudo xiwarp serve --create /srv/incoming # on the receiver\n"
	"xiwarp put big.iso receiver.example      # on the sender, as any user\n"
	"sudo xiwarp status --watch 1\n"
	"sudo xiwarp unload eth0\n";

const struct xiw_help_row xiw_help_exits[] = {
	{ "0", "success" },
	{ "1", "failure at run time: files, memory, system" },
	{ "2", "wrong usage" },
	{ "3", "not permitted: a capability is missing, or the memlock limit is too low" },
	{ "4", "no such interface, or xiwarp is not loaded on it" },
	{ "5", "busy: another XDP program, already loaded, or connections in use" },
	{ "6", "not supported by the kernel or the driver" },
	{ "7", "the connection or the peer failed, or the peer refused" },
	{ "8", "verification failed: digests or pings differ" },
	{ "126", "run: COMMAND cannot be executed" },
	{ "127", "run: COMMAND was not found" },
	{ "128+N", "stopped cleanly by signal N (130: interrupted)" },
	{},
};

const struct xiw_help_row xiw_help_files[] = {
	{ XIW_CONF_FILE,
	  "The administrator's decision about CRCs, for the whole host. It counts only if root "
	  "owns the file and nobody else can write to it, and is read when a program starts. A "
	  "line has two words; # begins a comment. 'crc required' (the same as without the "
	  "file): every connection uses CRC32c. 'crc optional': an application may do without "
	  "(--crc off) if its peer does so too. 'crc off': every connection does without if its "
	  "peer does so too. Do without only where something else protects every octet from end "
	  "to end as well as a CRC32c does (RFC 5044 section 4.4); TCP's own checksum does not." },
	{},
};
