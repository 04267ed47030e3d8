#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 120
#
# `xiwarp perf` over a slow link: what was posted takes longer than the time-out for a silent server, and the run ends
# with a report; and where it is stopped before, or the server is gone, the line says what was carried until then.
. "${0%/*}/../lib/lib.sh"

xiwarp=$BUILD/xiwarp
server=

serve() {
	spawn server rcv server.log "$xiwarp" perf -s --path kernel --peer-timeout 60
	wait_listen rcv 15044 || fail serve-listens "$(cat "$TMP/server.log")"
}
perf() { in_ns snd timeout -s INT 30 "$xiwarp" perf "$V4_RCV" --path kernel -t 1 "$@"; }

# 4 MiB take 4 s, with a time-out of 2.
slow() {
	perf --peer-timeout 2 "$@" >"$TMP/out" 2>&1
	local rc=$?
	cat "$TMP/out"
	((rc == 0)) && grep -Eq '^ +[0-9.]+ s +[0-9.]+ [kM]bit/s +of what was still' "$TMP/out" &&
		grep -Eq '[0-9] messages/s, [4-9]\.[0-9]* s$' "$TMP/out"
}

# Its end is a line of what TCP has carried.
carried() { # WORDS
	local rc=$?
	cat "$TMP/out"
	((rc == 7)) &&
		grep -Eq "$V4_RCV:15044: $1: TCP had carried .* [kM]iB in .* Mbit/s" "$TMP/out"
}
stopped() {
	in_ns snd timeout -s INT 3 "$xiwarp" perf "$V4_RCV" --path kernel -t 1 --depth 1024 \
		>"$TMP/out" 2>&1
	# timeout tells 124 for the program that it has ended.
	(($? == 124)) && (exit 7)
	carried stopped
}
gone() {
	local client
	spawn client snd out "$xiwarp" perf "$V4_RCV" --path kernel -t 1 --depth 1024 \
		--peer-timeout 3
	sleep 2
	kill -STOP "$server"
	in_ns rcv ip link set "$IF_RCV" down
	reap "$client" 20
	carried "the server does not answer any more"
}

wire_up plain || exit 1
if ! in_ns snd tc qdisc add dev "$IF_SND" root tbf rate 8mbit burst 3kb latency 400ms \
	2>/dev/null; then
	skip slow "the kernel has no tbf"
	finish
fi
serve
expect write slow
expect send slow --op send
in_ns rcv tc qdisc add dev "$IF_RCV" root tbf rate 8mbit burst 3kb latency 400ms
expect read slow --op read
expect stopped stopped
expect gone gone
finish
