#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 240
#
# Packets of the interface that XDP does not see: a driver may pass by it what hardware joins (LRO), and others may
# redirect packets to the interface behind it. Here a second wire brings them, whose end redirects them. Connections
# that meet it say so, and are right; a direct stream goes on if it passes, and ends at both ends if it does not.
. "${0%/*}/../lib/lib.sh"
. "${0%/*}/../lib/counts.sh"
# shellcheck source=tests/net/faults/trouble.sh
. "${0%/*}/../faults/trouble.sh"

OCTETS=300000 WORDS="pass XDP by" REASON="packets pass XDP by"
progs=$_bpffs/xiw-wire-$$ # lib.sh removes it
by_snd=xw${_id}b by_rcv=xw${_id}c

number() { # 32 bits, as bpftool wants them
	echo $(($1 & 255)) $(($1 >> 8 & 255)) $(($1 >> 16 & 255)) $(($1 >> 24 & 255))
}

put() { # INDEX VALUE
	# shellcheck disable=SC2046
	bpftool map update pinned "$progs/around_by" key "$1" 0 0 0 value $(number "$2")
}

# from LEAST: TCP packets of so many bytes or more pass XDP by from now on; 0: none.
from() {
	put 0 "$1"
}

send_one() {
	spawn SEND snd sent "$BUILD/tests/net/lib/sendto" -t $OCTETS -o "$TMP/octets" "$V4_RCV" \
		15060
	reap "$SEND" 20 && return
	cat "$TMP/sent"
	return 1
}

# short OPTION...: a connection by a process of its own; its report is in $TMP/json.
short() {
	spawn SINK rcv json "$BUILD/xiwarp" sink --stag 0x1234 --size 1M --json --once \
		--listen "$V4_RCV:15060" "$@"
	wait_listen rcv 15060 && send_one && reap "$SINK" 10 &&
		(($(field octets_direct "$TMP/json") +
			$(field octets_kernel "$TMP/json") >= OCTETS))
}

says() { [[ $(field no_direct "$TMP/json") == *"$1"* ]]; }
says_nothing() { [[ -z $(field no_direct "$TMP/json") ]]; }
all_direct() { (($(field octets_direct "$TMP/json") > OCTETS / 2)); }
remembers() {
	in_ns rcv "$xiwarp" status "$IF_RCV" --json >"$TMP/status" &&
		grep -q "\"reason\":\"$REASON\"" "$TMP/status"
}
left_by() { # NAME ID
	grep -Eq "\"id\":$2,.*\"$REASON\":" "$TMP/$1.state" || { cat "$TMP/$1.state"; return 1; }
}

# The second wire.
wire() {
	local mac
	mac=$(in_ns rcv ip -br link show "$IF_RCV" | awk '{ print $3 }')
	in_ns snd ip link add "$by_snd" type veth peer name "$by_rcv" &&
		in_ns snd ip link set "$by_rcv" netns "$(_ns rcv)" &&
		in_ns rcv ip link set "$by_rcv" address "$mac" up &&
		in_ns snd ip link set "$by_snd" up &&
		in_ns snd ethtool -K "$by_snd" tx off tso off gso off >/dev/null &&
		in_ns rcv tc qdisc add dev "$by_rcv" clsact &&
		in_ns rcv tc filter add dev "$by_rcv" ingress bpf da pinned "$progs/behind" &&
		in_ns snd tc qdisc add dev "$IF_SND" clsact &&
		in_ns snd tc filter add dev "$IF_SND" egress bpf da pinned "$progs/around"
}

wire_up plain 1500 || exit 1
wire_clamp 131072
set_sysctl snd net.ipv4.tcp_no_metrics_save 1
bpftool prog loadall "$BUILD/tests/net/path/bypass.bpf.o" "$progs" pinmaps "$progs" || exit 1
wire || exit 1
put 1 "$(_ifindex snd "$by_snd")"
put 2 "$(_ifindex rcv "$IF_RCV")"
load_patient rcv || fail load "exit code $?"

# ---- from the connection's begin
# Promised: nothing is lost, no time-out is waited for, and the cause is told, whether XDP sees some packets or none.
from_the_begin() { # MODE
	local before
	before=$(timeouts)
	from 200
	expect "$1-data-arrives" short
	expect "$1-data-told" says "$WORDS"
	expect "$1-data-remembered" remembers
	from 1
	expect "$1-all-arrives" short
	expect "$1-all-told" says "$WORDS"
	expect "$1-no-time-out" test "$(timeouts)" = "$before"
	from 0
	expect "$1-gone-arrives" short
	expect "$1-gone-direct" all_direct
	expect "$1-gone-not-told" says_nothing
}
load_anew() { unload >/dev/null && load_patient rcv "$@"; }
from_the_begin native
expect generic load_anew --mode generic
from_the_begin generic
expect native load_anew

# ---- while a stream is direct
# Promised: it falls back, says why, and is complete if it passes before long.
receive A
transmit 1 -r 10
under_way A 1 direct
from 200
expect passing-left wait_until "$LONG" left_by A 1
from 0
expect passing-told told A 1 "$WORDS"
expect passing-moves moves A 1
finishes passing-complete A 1
expect passing-remembered remembers

# It ends, and both ends are told, if it does not pass. Connections of this peer are then kept off the direct path.
quit passing-ends A
expect load-anew load_anew
receive A
transmit 1 -r 10
under_way A 1 direct
from 1
breaks lasting-peer-told 1
expect lasting-told told A 1 "$WORDS"
ended_with lasting-ended A 1 "Protocol driver not attached"
from 0
transmit 2 -r 10
under_way A 2 kernel
expect lasting-found-before told A 2 "$WORDS.*(found before)"
finishes lasting-next-complete A 2
quit lasting-ends A
expect load-forgets load_anew
receive A
transmit 3 -r 10
under_way A 3 direct
finishes load-forgets-complete A 3
quit last-ends A
unload >/dev/null || fail unload "exit code $?"
finish
