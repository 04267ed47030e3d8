#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What the sender's TCP puts on the wire (RFC 5044 sections 4.5 and 5.1, appendix A), read at its interface by
# independent code (sender.c): every data segment begins and ends with an FPDU, a message goes on in the next segment
# only if it fills
# this one to the EMSS, no ULPDU is above MULPDU, and no MULPDU is below 128. timeout: 180
. "${0%/*}/../lib/lib.sh"

sender=$BUILD/tests/net/peer/sender report=$TMP/send
before= # a command to run before each connection

# once VERSION "RECEIVER OPTIONS" SENDER-OPTION...: one connection; what it says is in $TMP/send.
once() {
	local receiver pid address=$V4_RCV rc
	(($1 == 6)) && address=$V6_RCV
	# shellcheck disable=SC2086
	spawn receiver rcv recv "$sender" recv $2 "$address" 15044
	wait_listen rcv 15044
	spawn pid snd send "$sender" send "${@:3}" "$IF_SND" "$address" 15044
	reap "$pid" 20
	rc=$?
	((rc == 124)) && stop "$pid"
	reap "$receiver" 10 || rc=1
	((rc == 0)) || cat "$TMP/send" "$TMP/recv"
	return "$rc"
}

# If frames are lost in either direction, TCP may recut segments. A peer that a loaded machine has not let read for some
# 200 ms is probed by the part of a segment that fills its window, and what follows is cut behind that. Both are TCP's
# own doing, and not tested here: up to five attempts.
lossless() {
	for _ in 1 2 3 4 5; do
		$before
		once "$@" || return
		(($(field resent) || $(field probes))) || return 0
	done
	echo "segments were sent again, or cut by the window's edge: $(<"$TMP/send")"
}

share() {
	awk "BEGIN { printf \"%.2f\", 100 * $(field aligned) / $(field segments) }"
}

# aligned NAME EMSS VERSION "RECEIVER OPTIONS" SENDER-OPTION...: every segment.
aligned() {
	local name=$1 emss=$2
	if ! lossless "$3" "$4" -e "$emss" "${@:5}"; then
		fail "$name" "see above"
		return
	fi
	echo "$name: EMSS $(field emss), $(field segments) segments, $(share) % aligned," \
		"$(field full) of EMSS, $(field fpdus) FPDUs, $(field messages) messages"
	if (($(field emss) != emss)); then
		fail "$name" "EMSS $(field emss), not $emss"
	elif (($(field aligned) != $(field segments))); then
		fail "$name" "$(field aligned) of $(field segments) aligned"
	else
		pass "$name"
	fi
}

# regained NAME FROM TO BEFORE CHANGE "RECEIVER OPTIONS" SENDER-OPTION...: the EMSS changes in mid-stream.
regained() {
	local name=$1 emss=$3 half last all
	printf '#!/bin/sh\n%s\n' "$5" >"$TMP/change"
	chmod +x "$TMP/change"
	local before="in_ns snd $4"
	if ! lossless 4 "$6" -e "$2" -x "$TMP/change" -E "$emss" "${@:7}"; then
		fail "$name" "see above"
		return
	fi
	half=$(field half) last=$(field last_unaligned) all=$(field segments)
	echo "$name: EMSS $(field emss), $all segments, changed after $half," \
		"$((all - $(field aligned))) not aligned, the last is $last"
	if (($(field emss) != emss || half == 0 || half == all)); then
		fail "$name" "EMSS $(field emss), not $emss, or no change in mid-stream"
	elif ((last > half + (all - half) / 2)); then
		fail "$name" "not aligned again before segment $last of $all"
	elif ((all - $(field aligned) > last - half && last)); then
		fail "$name" "not aligned before the change"
	else
		pass "$name"
	fi
}

# correct NAME "RECEIVER OPTIONS" SENDER-OPTION...: the rules that apply to segments of any size.
correct() {
	expect "$1" once 4 "${@:2}"
}

# wire MTU. Without tail loss probes: what TCP sends as one, when an acknowledgement is late, fills the peer's
# window to the last octet, corked or not, and comes twice if it was not late enough.
wire() {
	local side
	wire_up plain "$1"
	for side in snd rcv; do
		set_sysctl $side net.ipv4.tcp_early_retrans 0
	done
}

is_on_wire() { # KEY RELATION NUMBER
	[ "$(field "$1")" "$2" "$3" ] || {
		echo "$1 is $(field "$1"): $(<"$TMP/send")"
		return 1
	}
}

wire 1500
wire_clamp 262144 # veth's ring holds 256 frames
aligned long 1448 4 "" -t 8000000
aligned long-marked 1448 4 -M -M -t 8000000
aligned mixed 1448 4 "-b 16" -t 4000000 -l 1-9000
aligned mixed-marked 1448 4 "-M -b 16" -M -t 4000000 -l 1-9000
aligned small 1448 4 "" -t 200000 -l 1-64
aligned small-marked 1448 4 "-M -b 64" -M -t 200000 -l 1-64
aligned ipv6 1428 6 "-M" -M -t 4000000 -l 1-20000

# 60 FPDUs of 24 octets fill a segment; the last 20 messages have no further ones to wait for.
aligned one-octet 1448 4 "" -t 20000 -l 1-1
expect one-octet-packed is_on_wire segments -eq 334
aligned one-octet-no-pack 1448 4 "" -t 2000 -l 1-1 -P
expect one-octet-no-pack-segments is_on_wire segments -eq 2000
aligned mixed-no-pack 1448 4 "" -t 1000000 -l 1-9000 -P
expect mixed-no-pack-segments is_on_wire fpdus -eq "$(field segments)"

# One message alone does not wait for another, nor for an acknowledgement.
aligned lone 1448 4 "" -t 10 -l 1-1 -i
expect lone-segments is_on_wire segments -eq 10
aligned lone-long 1448 4 "" -t 14000 -l 14000-14000 -i

# The peer's window is what limits: no part of a segment fills it.
aligned window 1448 4 "-w 100000" -t 2000000
aligned window-mixed 1448 4 "-M -w 100000" -M -t 2000000 -l 1-9000
aligned window-small 1448 4 "-w 16384" -t 2000000

# The peer announces a smaller MSS, down to one that does not hold a ULPDU of 128 octets.
wire_clamp 65536
aligned mss-536 524 4 "-m 536" -t 1000000
aligned mss-536-marked 524 4 "-m 536 -M" -M -t 1000000 -l 1-3000
wire_clamp 16384
aligned mss-152 140 4 "-m 152" -t 60000 -l 1-3000
for mss in 88 100 140 147; do
	correct "mss-$mss" "-m $mss" -t 100000 -l 1-3000 -e $((mss - 12))
	correct "mss-$mss-marked" "-m $mss -M" -M -t 100000 -l 1-3000 -e $((mss - 12))
done

wire_clamp 262144
tcp_timestamps snd 0
aligned no-timestamps 1460 4 "" -t 8000000
aligned no-timestamps-mixed 1460 4 "-M -b 4" -M -t 4000000 -l 1-3000
wire_clamp 65536
aligned no-timestamps-536 536 4 "-m 536 -M" -M -t 1000000 -l 1-3000

wire 1500
wire_clamp 262144
route="ip route change 10.77.0.0/24 dev $IF_SND mtu"
regained route-shrinks 1448 948 "$route 1500" "$route 1000" "" -t 12000000
wire 1500
wire_clamp 262144
regained link-shrinks 1448 1148 "ip link set $IF_SND mtu 1500" "ip link set $IF_SND mtu 1200" \
	-M -M -t 12000000 -l 1-9000

# holes NAME NTH...: these segments of the peer are missing, from the first one on and to the end, so that our segments
# carry SACK blocks, which leave less room for FPDUs. Segments under way at the begin may be recut.
holes() {
	local name=$1 receiver pid rc
	hold "$2"
	spawn receiver rcv recv "$sender" recv -b 16 ${MARKED:+-M} "$V4_RCV" 15044
	wait_listen rcv 15044
	spawn pid snd send "$sender" send -t 8000000 -l 1000-9000 -d 8 ${MARKED:+-M} "$IF_SND" \
		"$V4_RCV" 15044
	reap "$receiver" 20
	rc=$?
	hold 0
	reap "$pid" 20 || rc=$?
	((rc == 0)) || {
		stop "$pid"
		fail "$name" "$(cat "$TMP/recv" "$TMP/send")"
		return
	}
	echo "$name: $(field segments) segments, $(field sacked) with SACK blocks," \
		"$(share) % aligned"
	if (($(field sacked) < $(field segments) / 2)); then
		fail "$name" "no SACK blocks: $(<"$TMP/send")"
	elif (($(field aligned) < $(field segments) * 95 / 100)); then
		fail "$name" "$(field aligned) of $(field segments) aligned"
	else
		pass "$name"
	fi
}

hold() { # NTH: of the peer's data segments (hold.bpf.c); 0: none
	# shellcheck disable=SC2046
	bpftool map update pinned "$pins/hold" key 0 0 0 0 value $(_u32 "$1") $(_u32 0) $(_u32 0) \
		$(_u32 0) $(_u32 0) $(_u32 0) $(_u32 0) $(_u32 0) $(_u32 0) $(_u32 0)
}

wire 1500
wire_clamp 262144
pins=/sys/fs/bpf/xiw-hold-$$
mkdir "$pins" && at_end rm -rf "$pins"
bpftool prog loadall "$BUILD/tests/net/lib/hold.bpf.o" "$pins" pinmaps "$pins" &&
	in_ns rcv ip link set "$IF_RCV" gso_max_segs 1 &&
	in_ns rcv tc qdisc add dev "$IF_RCV" clsact &&
	in_ns rcv tc filter add dev "$IF_RCV" egress bpf da pinned "$pins/hold_back" ||
	fail hold "exit code $?"
holes holes 4
MARKED=1 holes holes-marked 4
tcp_timestamps snd 0
holes holes-no-timestamps 4

wire 9000
wire_clamp 524288
aligned jumbo 8948 4 "" -t 20000000
aligned jumbo-marked 8948 4 "-M -b 16" -M -t 20000000 -l 1-20000
# No FPDU fills such a segment: one to three octets are left, and each is a write of its own.
in_ns snd $route 1501
aligned odd 1449 4 "" -t 4000000
aligned odd-marked 1449 4 -M -M -t 4000000 -l 1-4000
regained route-grows 1449 8948 "$route 1501" "$route 9000" "" -t 20000000
# If the MTU of the interface is the reason, the Initiator has TCP use an MSS that an FPDU fills.
for mtu in 1501 1502 1503; do
	in_ns snd ip link set "$IF_SND" mtu $mtu
	aligned mtu-$mtu 1448 4 "" -t 4000000
	aligned mtu-$mtu-ipv6 1428 6 -M -M -t 4000000 -l 1-4000
done
finish
