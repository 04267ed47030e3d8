#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 180
#
# For a while the receiver's socket has no route to the peer, under traffic both ways. Promised: as
# under plain TCP the connections go on, and they are direct again, as their later ones are, once that is over.
. "${0%/*}/../lib/lib.sh"

PORT=15044
CONNECTIONS=3

status() { in_ns rcv "$BUILD/xiwarp" status "$IF_RCV" --json; }
direct() { # COUNT: so many are
	(($(status | grep -o '"path":"direct"' | wc -l) >= $1))
}
# COUNT: so many are, and have come to their data. One whose peer still waits for the answer to its request, and sends
# nothing, would stay direct in the hole.
moving() {
	(($(status | grep -oE '"path":"direct"[^{}]*"octets_direct":[0-9]{6,}' | wc -l) >= $1))
}
none_direct() { status | grep -q '"flows":' && ! direct 1; }
not_kept_off() {
	local said
	said=$(status) && [[ $said == *'"obstacles"'* && $said != *'"holds":true'* ]]
}

# hole NAME SERVER CLIENT: until all stretches have ended for it.
hole() {
	local name=$1 at=$2 route=$3 rc
	[[ $at == *:* ]] && at="[$at]"
	spawn SERVER rcv server "$BUILD/xiwarp" perf -s --peer-timeout 20 --json
	wait_listen rcv "$PORT"
	spawn CLIENT snd client "$BUILD/xiwarp" perf --peer-timeout 20 --json -o send --both \
		-n "$CONNECTIONS" -t 12 "$at"
	expect "$name-direct" wait_until 10 moving "$CONNECTIONS"
	in_ns rcv ip route add blackhole "$route" || fail "$name" "no blackhole"
	expect "$name-falls-back" wait_until 5 none_direct
	in_ns rcv ip route del blackhole "$route" || fail "$name" "the blackhole stays"
	expect "$name-direct-again" wait_until 20 direct "$CONNECTIONS"
	expect "$name-not-kept-off" not_kept_off
	reap "$CLIENT" 40
	rc=$?
	((rc == 0)) && pass "$name-goes-on" ||
		fail "$name-goes-on" "exit code $rc: $(cat "$TMP/client" "$TMP/server")"
	stop "$SERVER"
}

wire_up plain 1500 || exit 1
wire_clamp 131072
load_patient rcv || fail load "exit code $?"
hole v4 "$V4_RCV" "$V4_SND/32"
in_ns rcv "$BUILD/xiwarp" unload "$IF_RCV" >/dev/null || fail unload "exit code $?"
load_patient rcv || fail load "exit code $?"
hole v6 "$V6_RCV" "$V6_SND/128"
in_ns rcv "$BUILD/xiwarp" unload "$IF_RCV" >/dev/null || fail unload "exit code $?"
finish
