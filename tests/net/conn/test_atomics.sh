#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Atomic operations (RFC 7306) of eight connections to two engines, and of an application beside them, on one word, by
# FetchAdd and CmpSwap: each value of the counter is found once (atomics.c). timeout: 180
. "${0%/*}/../lib/lib.sh"

atomics=$BUILD/tests/net/conn/atomics

all_found() {
	local server rc=0
	spawn server rcv server "$atomics" serve 15044 "$TMP/words"
	wait_listen rcv 15044 && wait_listen rcv 15045 || { cat "$TMP/server"; return 1; }
	in_ns snd timeout 80 "$atomics" run $V4_RCV 15044 "$TMP/words" || rc=$?
	((rc == 0)) || stop "$server"
	reap "$server" 30 || rc=$?
	cat "$TMP/server"
	((rc == 0)) && "$atomics" check "$TMP/words" &&
		[[ $(grep -c '^status=0 ' "$TMP/server") == 8 ]]
}

by_direct() {
	all_found && grep -q 'direct=1' "$TMP/server"
}

wire_up plain
expect kernel all_found
for side in rcv snd; do
	name=IF_${side^^}
	load_patient $side || fail "load-$side" "exit code $?"
done
expect direct by_direct
for side in rcv snd; do
	name=IF_${side^^}
	in_ns $side "$BUILD/xiwarp" unload "${!name}" >/dev/null ||
		fail "unload-$side" "exit code $?"
done
finish
