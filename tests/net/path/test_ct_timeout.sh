#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 180
#
# Conntrack forgets a connection whose segments it has not seen for a while, and direct ones do not pass it. Where it
# takes none into its table that is under way (nf_conntrack_tcp_loose=0), nothing makes it known again. Promised: as
# under plain TCP, conntrack knows a connection as long as the peer's octets come, whatever OUTPUT says of lo.
. "${0%/*}/../lib/lib.sh"

if ! command -v nft >/dev/null; then
	skip ct-timeout "nft is not installed (tools/setup)"
	finish
fi

PORT=15044

# rules [RAW]: RAW is a rule for what leaves, before conntrack.
rules() {
	in_ns rcv nft -f - <<-R
		table inet filter {
			chain raw {
				type filter hook output priority raw; policy accept;
				${1-}
			}
			chain input {
				type filter hook input priority filter; policy drop;
				ct state { established, related } accept
				meta l4proto { icmp, ipv6-icmp } accept
				iif lo accept
				ct state new tcp dport $PORT accept
			}
			chain output {
				type filter hook output priority filter; policy drop;
				ct state { established, related } accept
				meta l4proto { icmp, ipv6-icmp } accept
				oif lo accept
				counter
			}
		}
	R
}

dropped() { in_ns rcv nft list chain inet filter output | grep -Eq 'counter packets [1-9]'; }
not_dropped() { ! dropped; }
mostly_direct() {
	(($(field octets_direct "$TMP/server") > 9 * $(field octets_kernel "$TMP/server")))
}

# known NAME ADDRESS [RAW]: the server sends nothing for longer than all of conntrack's limits.
known() {
	local name=$1 at=$2 rc
	[[ $at == *:* ]] && at="[$at]"
	rules "${3-}"
	spawn SERVER rcv server "$BUILD/xiwarp" perf -s --once --peer-timeout 8 --json
	wait_listen rcv "$PORT"
	spawn CLIENT snd client "$BUILD/xiwarp" perf --peer-timeout 20 --json -o write -t 6 "$at"
	reap "$CLIENT" 60
	rc=$?
	((rc == 0)) && reap "$SERVER" 10
	rc=$?
	if ((rc)); then
		fail "$name-goes-on" "exit code $rc: $(cat "$TMP/client" "$TMP/server")"
		stop "$CLIENT"
		stop "$SERVER"
	else
		pass "$name-goes-on"
		expect "$name-direct" mostly_direct
		expect "$name-known" not_dropped
	fi
	in_ns rcv nft flush ruleset
}

wire_up plain 1500 || exit 1
wire_clamp 131072
load_patient rcv || fail load "exit code $?"
rules # loads conntrack
set_sysctl rcv net.netfilter.nf_conntrack_tcp_loose 0 || exit 1
for limit in established unacknowledged max_retrans; do
	set_sysctl rcv net.netfilter.nf_conntrack_tcp_timeout_$limit 2 || exit 1
done
in_ns rcv nft flush ruleset

known v4 "$V4_RCV"
known v6 "$V6_RCV"
known notrack-v4 "$V4_RCV" 'oif lo notrack'
known notrack-v6 "$V6_RCV" 'oif lo notrack'
in_ns rcv "$BUILD/xiwarp" unload "$IF_RCV" >/dev/null || fail unload "exit code $?"
finish
