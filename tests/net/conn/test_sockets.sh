#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Sockets as programs expect them: sockets.c. timeout: 120
. "${0%/*}/../lib/lib.sh"

sockets=$BUILD/tests/net/conn/sockets

wire_up plain 1500
in_ns rcv "$sockets" cases || ((_failures++))

load_patient rcv || fail load "exit code $?"
for host in $V4_RCV $V6_RCV; do
	spawn recv rcv recv "$sockets" recv 15044
	wait_listen rcv 15044
	in_ns snd timeout 60 "$sockets" send $host 15044 "$IF_SND" >"$TMP/send"
	sent=$?
	reap "$recv" 20
	if (($? == 0 && sent == 0)); then
		pass "acks-follow-$host ($(cat "$TMP/send"))"
	else
		fail "acks-follow-$host" "$(cat "$TMP/send" "$TMP/recv")"
	fi
done
finish
