# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Sourced, behind lib.sh, by the tests that count what a fault costs a connection from snd to rcv.
#
#   timeouts         how many retransmission time-outs the TCP of snd has had
#   rto_min MS       the least of these from now on. Where none may be needed it is longer than this machine stalls:
#                    then each shows that a segment was lost
#   octets_direct    how many octets of the connection of rcv have come direct, while it is open
#   direct_by_now [N]   more than N (10000) have

timeouts() {
	in_ns snd cat /proc/net/netstat | awk '/^TcpExt:/ { if (n++) print $at; else
		for (i = 1; i <= NF; i++) if ($i == "TCPTimeouts") at = i }'
}

rto_min() {
	in_ns snd ip route change 10.77.0.0/24 dev "$IF_SND" src "$V4_SND" rto_min "$1ms"
}

octets_direct() {
	local octets
	octets=$(in_ns rcv "$BUILD/xiwarp" status --json | field octets_direct /dev/stdin)
	echo "${octets:-0}"
}

direct_by_now() {
	(($(octets_direct) > ${1:-10000}))
}
