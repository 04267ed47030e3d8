#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 200
#
# conntrack zones by interface, and a firewall that drops what is invalid. What is injected over lo is another zone's,
# so direct segments outrun what conntrack has seen, and the socket's segments are dropped. The first connection finds
# that out and goes on by the kernel path, and the next ones do not stand still.

. "${0%/*}/../lib/lib.sh"

if ! command -v nft >/dev/null; then
	skip zones "nft is not installed (tools/setup)"
	finish
	exit
fi

PORT=15044
rules() { # HOOK
	in_ns rcv nft -f - <<-R
		table inet zones {
			chain pre {
				type filter hook prerouting priority raw; policy accept;
				iif $IF_RCV ct zone set 5
			}
			chain out {
				type filter hook output priority raw; policy accept;
				oif $IF_RCV ct zone set 5
			}
			chain drops {
				type filter hook $1 priority filter; policy accept;
				ct state invalid counter drop
			}
		}
	R
}

runs() { # NAME ADDRESS SECONDS
	local to=$2 server client rc
	[[ $to == *:* ]] && to="[$to]"
	spawn server rcv server "$BUILD/xiwarp" perf -s --once --peer-timeout 8 --json
	wait_listen rcv "$PORT"
	spawn client snd client "$BUILD/xiwarp" perf -o send --latency --peer-timeout 20 --json \
		-t "$3" "$to"
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
dropped() { in_ns rcv nft list chain inet zones drops | grep -Eo 'packets [0-9]+'; }

wire_up plain 1500 || exit 1
for hook in output input; do
	if ! rules $hook 2>"$TMP/rules"; then
		skip zones "nft, or the kernel, has no zones: $(head -n 1 "$TMP/rules")"
		break
	fi
	for address in "$V4_RCV" "$V6_RCV"; do
		[[ $address == *:* ]] && name=$hook-v6 || name=$hook-v4
		load_patient rcv || fail load "exit code $?"
		runs "$name-first" "$address" 3
		# In INPUT lo's own zone goes on as it began.
		if [[ $hook == output ]]; then
			expect "$name-falls-back" said '"left_direct":\{"output dropped":1\}'
			expect "$name-says-why" said '"no_direct":"[^"]*ct zone'
			before=$(dropped)
			runs "$name-next" "$address" 1
			expect "$name-next-is-kept-off" said '"went_direct":0,'
			expect "$name-next-loses-nothing" test "$(dropped)" = "$before"
		else
			expect "$name-stays-direct" said '"no_direct":"".*"went_kernel":1,'
		fi
		in_ns rcv "$BUILD/xiwarp" unload "$IF_RCV" >/dev/null
	done
	in_ns rcv nft flush ruleset
done
finish
