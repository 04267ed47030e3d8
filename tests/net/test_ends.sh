#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Every connection ends, whatever state it is in and whatever its peer does or does not: ends.c has the table. On both
# paths. And what had arrived before the end is delivered before it: held.c. timeout: 90
. "$(dirname "$0")/lib.sh"

xiwarp=$BUILD/xiwarp
GONE=10.77.0.7 # of a host that vanishes

# ends PATH
ends() {
	in_ns snd ip addr replace $GONE/24 dev "$IF_SND"
	in_ns rcv "$BUILD/tests/net/ends" "$1" "$IF_RCV" $V4_RCV $V4_SND $GONE "/run/netns/$(_ns snd)" \
		"ip -n $(_ns snd) addr del $GONE/24 dev $IF_SND" ${CELL:+"$CELL"}
	(($? == 0)) || ((_failures++))
	[[ -n ${CELL:-} ]] && return
	in_ns rcv "$BUILD/tests/net/held" "$1" $V4_RCV "/run/netns/$(_ns snd)" || ((_failures++))
}

wire_up plain
# Nobody is there, and nobody says so.
in_ns rcv ip route add 192.0.2.0/24 via $V4_SND
ends kernel
in_ns rcv "$xiwarp" load "$IF_RCV" >"$TMP/load" || fail load "$(cat "$TMP/load")"
ends direct
finish
