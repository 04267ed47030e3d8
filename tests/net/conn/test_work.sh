#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# An application that uses what RDMAP offers for real work (work.c), as two processes: in each case the Initiator acts
# once, and the Responder once, on both paths. CASE chooses. timeout: 120
. "${0%/*}/../lib/lib.sh"

work=$BUILD/tests/net/conn/work

both() {
	local listener rc
	spawn listener rcv "listen-$1" "$work" listen "$1" $V4_RCV ${CASE:+"$CASE"}
	wait_listen rcv 15050 || fail "$1" "nobody listens: $(cat "$TMP/listen-$1")"
	in_ns snd timeout 100 "$work" connect "$1" $V4_RCV ${CASE:+"$CASE"} >"$TMP/connect-$1" 2>&1
	rc=$?
	((rc == 0)) || fail "$1-connect" "exit code $rc: $(cat "$TMP/connect-$1")"
	reap "$listener" 20
	rc=$?
	((rc == 124)) && stop "$listener"
	((rc == 0)) || fail "$1-listen" "exit code $rc: $(cat "$TMP/listen-$1")"
	cat "$TMP/connect-$1" "$TMP/listen-$1"
}

wire_up plain
both kernel
for side in snd rcv; do
	interface=IF_${side^^}
	load_patient $side || fail load "exit code $?"
done
both direct
for side in snd rcv; do
	interface=IF_${side^^}
	in_ns $side "$BUILD/xiwarp" unload "${!interface}" >/dev/null || fail unload "exit code $?"
done
finish
