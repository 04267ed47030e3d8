#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# An engine in a loop of its application (loop.c): it is run only when its descriptor says so, by level- and
# edge-triggered epoll, or blocks or spins in xiw_engine_run(), while other threads call and wake it. Frames, octets of
# sockets and timers all come that way: on both paths no octet and no call is lost, and nobody waits for ever.
# timeout: 300
. "${0%/*}/../lib/lib.sh"

loop=$BUILD/tests/net/path/loop
rounds=960
report=$TMP/serve

# converse SERVER'S CLIENT'S [-c]: sets what the server reports.
converse() {
	local server client rc=0

	spawn server rcv serve "$loop" ${3:+"$3"} "$1" serve $V4_RCV 15044 $rounds
	wait_listen rcv 15044 || return 1
	spawn client snd ask "$loop" ${3:+"$3"} "$2" ask $V4_RCV 15044 $rounds
	reap "$client" 60 || rc=1
	reap "$server" 10 || rc=1
	if ((rc)); then
		stop "$client"
		stop "$server"
		cat "$TMP/serve" "$TMP/ask"
		return 1
	fi
	[[ $(field received) == $((2 * rounds)) && $(field called) == "$(field handed_over)" ]]
}

by() {
	converse "${@:2}" || return 1
	cat "$report"
	(($(field "octets_$1") > $(field received) * (64 + 8192) / 2 * 95 / 100))
}

wire_up plain 1500
for how in level edge; do
	expect "kernel-$how" by kernel $how $how
done
load_patient rcv || fail load "exit code $?"
load_patient snd || fail load "exit code $?"
for how in level edge run spin; do
	expect "direct-$how" by direct $how level
	expect "direct-$how-calls" by direct $how edge -c
done
in_ns snd "$BUILD/xiwarp" unload "$IF_SND" >/dev/null || fail unload "exit code $?"
in_ns rcv "$BUILD/xiwarp" unload "$IF_RCV" >/dev/null || fail unload "exit code $?"
finish
