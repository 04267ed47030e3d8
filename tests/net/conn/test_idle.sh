#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Ten thousand idle connections, all of them with a slot of the flow table: idle.c. timeout: 180
. "${0%/*}/../lib/lib.sh"

idle=$BUILD/tests/net/conn/idle

none() {
	in_ns rcv "$BUILD/xiwarp" status --json "$IF_RCV" | grep -q '"flows":\[\]'
}

# run NAME PORT N [RDMA SILENT]; each with a port of its own, as connections that have ended keep theirs for a minute.
run() {
	local name=$1 port=$2 n=$3 recv= send=
	shift 3
	spawn recv rcv "$name" "$idle" recv "$port" "$n" ${1:+"$1"}
	wait_listen rcv "$port"
	spawn send snd peers "$idle" send $V4_RCV "$port" "$n" ${2:+"$2"}
	wait_until 90 grep -q '^rested' "$TMP/$name" && kill -USR1 "$send"
	[[ ${2:-} ]] || { wait_until 60 grep -q '^done' "$TMP/$name"; kill -USR1 "$send"; }
	reap "$send" 30 || fail "$name-peers" "exit code $?: $(cat "$TMP/peers")"
	reap "$recv" 60 || ((_failures++))
	sed "s/^\(PASS\|FAIL\) /&$name-/" "$TMP/$name"
	expect "$name-slots-free" wait_until 20 none
}

wire_up plain 1500
# All of them are one peer's, which gets half of the slots.
load_patient rcv --flows 32768 || fail load "exit code $?"
run plain 15044 10000
run rdma 15045 10000 rdma silent
finish
