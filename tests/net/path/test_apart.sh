#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 200
#
# A firewall that drops what conntrack takes for invalid, and rules by which conntrack does not see what is injected
# over lo as part of the connection: another zone for the wire. Promised: no connection stands still, as none goes
# direct; the cause is told; with the remedy that is told the next one is direct and loses nothing.
. "${0%/*}/../lib/lib.sh"

if ! command -v nft >/dev/null; then
	skip apart "nft is not installed (tools/setup)"
	finish
	exit
fi

PORT=15044
TOLD='"no_direct":"conntrack has another zone for lo than for '

# What is still under way of connections that are over is invalid to a firewall that begins.
over() { [[ -z $(in_ns rcv ss -Htan state connected exclude time-wait) ]]; }

# rules HOOK PREROUTING OUTPUT: a rule of each, or none, before conntrack; HOOK drops what is invalid.
rules() {
	wait_until 5 over || return
	in_ns rcv nft flush ruleset
	in_ns rcv nft -f - <<-R
		table inet apart {
			chain pre {
				type filter hook prerouting priority raw; policy accept;
				$2
			}
			chain out {
				type filter hook output priority raw; policy accept;
				$3
			}
			chain drops {
				type filter hook $1 priority filter; policy accept;
				ct state invalid counter drop
			}
		}
	R
}
none_dropped() { in_ns rcv nft list chain inet apart drops | grep 'packets 0 '; }

runs() { # NAME ADDRESS
	local to=$2 server client rc
	[[ $to == *:* ]] && to="[$to]"
	spawn server rcv server "$BUILD/xiwarp" perf -s --once --peer-timeout 8 --json
	wait_listen rcv "$PORT"
	spawn client snd client "$BUILD/xiwarp" perf -o send --both --peer-timeout 20 --json \
		-t 1 "$to"
	reap "$client" 40
	rc=$?
	if ((rc == 0)) && reap "$server" 10; then
		pass "$1"
		return
	fi
	fail "$1" "exit code $rc: $(cat "$TMP/client" "$TMP/server")"
	stop "$client"
	stop "$server"
}
said() { grep -Eq "$1" "$TMP/server" || { cat "$TMP/server"; return 1; }; }

# parts NAME HOOK PREROUTING OUTPUT REMEDY-PREROUTING REMEDY-OUTPUT
parts() {
	local name=$1 hook=$2 address version
	for version in 4 6; do
		((version == 4)) && address=$V4_RCV || address=$V6_RCV
		rules "$hook" "$3" "$4" || fail "$name-rules" "exit code $?"
		load_patient rcv || fail load "exit code $?"
		runs "$name-v$version-goes-on" "$address"
		expect "$name-v$version-is-not-direct" said "$TOLD.*\"went_direct\":0,"
		expect "$name-v$version-loses-nothing" none_dropped
		rules "$hook" "$5" "$6" || fail "$name-remedy" "exit code $?"
		runs "$name-v$version-mended" "$address"
		expect "$name-v$version-is-direct" said '"no_direct":"".*"went_direct":[1-9]'
		expect "$name-v$version-mended-loses-nothing" none_dropped
		in_ns rcv "$BUILD/xiwarp" unload "$IF_RCV" >/dev/null || fail unload "exit code $?"
	done
}

wire_up plain 1500 || exit 1
wire_clamp 131072
if ! rules output "iif $IF_RCV ct zone set 5" "" 2>"$TMP/rules"; then
	skip apart "nft, or the kernel, has no zones: $(head -n 1 "$TMP/rules")"
	finish
	exit
fi
for hook in output input; do
	parts "zones-$hook" "$hook" "iif $IF_RCV ct zone set 5" "oif $IF_RCV ct zone set 5" \
		"iif { lo, $IF_RCV } ct zone set 5" "oif { lo, $IF_RCV } ct zone set 5"
done
finish
