#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 200
#
# What the engine injects over lo arrives no more, since connections are direct: a rule against forged addresses, or lo
# is down. The connection stands still once, the next ones do not, and all go direct when the cause has gone.

. "${0%/*}/../lib/lib.sh"

if ! command -v nft >/dev/null; then
	skip blocked "nft is not installed (tools/setup)"
	finish
	exit
fi

PORT=15044
status() { in_ns rcv "$BUILD/xiwarp" status "$IF_RCV" --json; }
is_direct() { status | grep -q '"path":"direct"'; }

begin() { # ADDRESS SECONDS
	local to=$1
	[[ $to == *:* ]] && to="[$to]"
	spawn SERVER rcv server "$BUILD/xiwarp" perf -s --once --peer-timeout 8 --json
	wait_listen rcv "$PORT"
	spawn CLIENT snd client "$BUILD/xiwarp" perf --latency --peer-timeout 20 --json \
		-t "$2" "$to"
}
ends() { # NAME
	local rc
	reap "$CLIENT" 30
	rc=$?
	if ((rc == 0)) && reap "$SERVER" 10; then
		pass "$1"
		return
	fi
	fail "$1" "exit code $rc: $(cat "$TMP/client" "$TMP/server")"
	stop "$CLIENT"
	stop "$SERVER"
}
# said PATTERN: of the server's report
said() { grep -Eq "$1" "$TMP/server" || { cat "$TMP/server"; return 1; }; }

rule() {
	in_ns rcv nft -f - <<-R
		table inet filter {
			chain input {
				type filter hook input priority filter;
				iif lo ip saddr $V4_SND drop
				iif lo ip6 saddr $V6_SND drop
			}
		}
	R
}
rule_gone() { in_ns rcv nft flush ruleset; }
down() { in_ns rcv ip link set lo down; }
down_gone() { in_ns rcv ip link set lo up; }

wire_up plain 1500 || exit 1
in_ns rcv "$BUILD/xiwarp" load "$IF_RCV" >/dev/null || fail load "exit code $?"
for how in rule down; do
	for address in "$V4_RCV" "$V6_RCV"; do
		[[ $address == *:* ]] && name=$how-v6 || name=$how-v4
		begin "$address" 3
		expect "$name-direct" wait_until 10 is_direct
		sleep 0.5
		expect "$name" $how
		ends "$name-goes-on"
		expect "$name-once" said '"left_direct":\{"injections lost":1\}'
		expect "$name-says-why" said '"no_direct":"[^"]* over lo '
		begin "$address" 1
		ends "$name-next"
		expect "$name-next-not-direct" said '"went_direct":0,'
		expect "$name-gone" ${how}_gone
		begin "$address" 1
		ends "$name-again"
		expect "$name-again-direct" said '"no_direct":"".*"went_direct":[1-9]'
	done
done
finish
