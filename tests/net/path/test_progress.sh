#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 240
#
# The direct path fails for one lasting reason after the other: the connection goes on by the kernel path, as plain
# TCP would, and says why. Faults that the direct path can tolerate do not move the connection.

. "${0%/*}/../lib/lib.sh"
. "${0%/*}/../lib/counts.sh"

PINS=$_bpffs/xiwarp/$IF_RCV
MIB=4

# transfer NAME MOST_TIMEOUTS: sends MIB of tagged messages to a sink, and leaves its report in $report.
transfer() {
	local name=$1 rc_sink rc_send before after
	before=$(timeouts)
	spawn SINK rcv json "$BUILD/xiwarp" sink --stag 0x1234 --size "${MIB}M" --once --json \
		--listen "$V4_RCV:15046" --out "$TMP/got"
	wait_listen rcv 15046 || { fail "$name" "nobody listens: $(cat "$TMP/json")"; return 1; }
	[[ -z ${AT_START:-} ]] || "$AT_START" || { fail "$name" "$AT_START"; return 1; }
	spawn SEND snd sent "$BUILD/tests/net/lib/sendto" -t $((MIB << 20)) -o "$TMP/sent-octets" \
		"$V4_RCV" 15046
	reap "$SEND" 20
	rc_send=$?
	((rc_send)) && stop "$SEND"
	reap "$SINK" 10
	rc_sink=$?
	((rc_sink)) && stop "$SINK"
	after=$(timeouts)
	if ((rc_send || rc_sink)); then
		fail "$name" "exit codes $rc_send, $rc_sink: $(cat "$TMP/sent" "$TMP/json")"
	elif ! cmp -s "$TMP/got" "$TMP/sent-octets"; then
		fail "$name" "octets differ"
	elif ((after - before > $2)); then
		fail "$name" "$((after - before)) retransmission time-outs: $(cat "$TMP/json")"
	else
		return 0
	fi
	return 1
}

# says NAME WORDS SHARE: by the report, at most SHARE per cent went direct, and WORDS say why.
says() {
	local direct kernel
	direct=$(field octets_direct) kernel=$(field octets_kernel)
	if [[ $(field no_direct) != *"$2"* ]]; then
		fail "$1" "does not say '$2': $(cat "$TMP/json")"
	elif ((direct * 100 > $3 * (direct + kernel))); then
		fail "$1" "$direct of $((direct + kernel)) octets came direct: $(cat "$TMP/json")"
	else
		pass "$1"
	fi
}

# A new load has forgotten what was found before.
load() {
	in_ns rcv "$BUILD/xiwarp" unload "$IF_RCV" >/dev/null 2>&1
	in_ns rcv "$BUILD/xiwarp" load "$IF_RCV" >/dev/null
}

wire_up plain 1500 || exit 1
wire_clamp 131072
rto_min 3000 && load_patient rcv || exit 1

# The peer leaves TCP's checksum to hardware, which a virtual wire does not have, as containers on one host do.
in_ns snd ethtool -K "$IF_SND" tx on >/dev/null
if transfer unfinished-checksums 1; then
	direct=$(field octets_direct)
	if ((direct < (MIB << 20) * 9 / 10)); then
		fail unfinished-checksums "$direct octets direct: $(cat "$TMP/json")"
	else
		pass unfinished-checksums
	fi
fi
in_ns snd ethtool -K "$IF_SND" tx off tso off gso off >/dev/null
in_ns rcv "$BUILD/xiwarp" unload "$IF_RCV" >/dev/null
rto_min 200 && load || exit 1

# Frames are lost between XDP and the engine.
in_ns rcv ip link add xiwm0 type veth peer name xiwm1
in_ns rcv ip link set xiwm0 up
misdirect() {
	spawn MISDIRECT rcv misdirect "$BUILD/tests/net/path/progress" "$PINS" xiwm0
	wait_until 10 grep -q ready "$TMP/misdirect"
}
AT_START=misdirect
transfer frames-lost 2 && says frames-lost "are lost" 0
AT_START=
stop "$MISDIRECT"

# The peer does not hear what the engine acknowledges.
load || exit 1
progs=$_bpffs/xiw-wire-$$ # lib.sh removes it
bpftool prog loadall "$BUILD/tests/net/path/progress.bpf.o" "$progs" || exit 1
in_ns snd tc qdisc add dev "$IF_SND" clsact
in_ns snd tc filter add dev "$IF_SND" ingress bpf da pinned "$progs/deaf" || exit 1
transfer unheard 8 && says unheard "does not hear" 60
in_ns snd tc qdisc del dev "$IF_SND" clsact

rto_min 3000

# What the engine injects does not arrive. Then the same with a ping-pong under way.
load || exit 1
in_ns rcv ip link set lo down
transfer injections-lost 0 && says injections-lost "injected over lo" 0
in_ns rcv ip link set lo up

# Somebody else's program in front of xiw_egress.
ahead() {
	if kernel_has 6 6; then
		in_ns rcv "$BUILD/tests/net/lib/tcx" first "$IF_RCV" "$progs/ahead"
	else
		in_ns rcv tc filter add dev "$IF_RCV" egress prio 1 bpf da pinned "$progs/ahead"
	fi
}
not_ahead() {
	if kernel_has 6 6; then
		in_ns rcv "$BUILD/tests/net/lib/tcx" off "$IF_RCV" "$progs/ahead"
	else
		in_ns rcv tc filter del dev "$IF_RCV" egress prio 1
	fi
}
ahead || exit 1
transfer egress-from-the-start 0 && says egress-from-the-start "xiw_egress does not see them" 0
not_ahead
rto_min 200

# 20,000 pings, while something is removed in the middle.
pings() { # NAME WHAT
	local rc_server rc_client
	spawn SERVER rcv json "$BUILD/xiwarp" rping -s -a "$V4_RCV" -p 15047 -C 20000 -S 64 --json
	wait_listen rcv 15047 || { fail "$1" "nobody listens: $(cat "$TMP/json")"; return 1; }
	spawn CLIENT snd pings "$BUILD/xiwarp" rping -c -a "$V4_RCV" -p 15047 -C 20000 -S 64 --json
	wait_until 5 direct_by_now || { fail "$1" "never direct"; return 1; }
	"$2" || { fail "$1" "$2"; return 1; }
	reap "$CLIENT" 30
	rc_client=$?
	((rc_client == 124)) && stop "$CLIENT"
	reap "$SERVER" 10
	rc_server=$?
	((rc_server == 124)) && stop "$SERVER"
	echo "$rc_server $rc_client" >"$TMP/codes"
}

lo_down() {
	in_ns rcv ip link set lo down
}

if pings lo-goes-down lo_down; then
	if [[ $(<"$TMP/codes") != "0 0" ]]; then
		fail lo-goes-down "exit codes $(cat "$TMP/codes" "$TMP/json" "$TMP/pings")"
	else
		says lo-goes-down "injected over lo" 100
	fi
fi
in_ns rcv ip link set lo up

# The numbers differ by then, and nothing translates the socket's segments. With tcx the engine puts xiw_egress in front
# again, and the connection goes on; without, both ends are told at once.
# blind NAME WHAT
blind() {
	local codes="7 7"
	kernel_has 6 6 && codes="0 0"
	load
	if pings "$1" "$2"; then
		if [[ $(<"$TMP/codes") != "$codes" ]]; then
			fail "$1" "exit codes $(cat "$TMP/codes" "$TMP/json" "$TMP/pings")"
		elif [[ $codes == "0 0" ]]; then
			pass "$1"
		else
			says "$1" "xiw_egress does not see them" 100
		fi
	fi
	not_ahead
}
blind egress-goes-blind ahead

# The server stands still meanwhile. What comes then takes the kernel path, the peer does not hear that it was
# acknowledged, and the stream goes direct again.
taken_back() {
	in_ns rcv "$BUILD/xiwarp" status --json | grep -q '"left_direct":{"[^}]*:[1-9]'
}
ahead_of_a_stall() {
	kill -STOP "$SERVER"
	ahead
	wait_until 10 taken_back
	kill -CONT "$SERVER"
}
blind egress-goes-blind-in-a-stall ahead_of_a_stall
in_ns rcv "$BUILD/xiwarp" unload "$IF_RCV" >/dev/null

# Packets that need more frames than the engine takes for one.
wire_up plain 20000 || exit 1
rto_min 3000 && load || exit 1
transfer packets-too-long 0 && says packets-too-long "does not fit" 0
in_ns rcv "$BUILD/xiwarp" unload "$IF_RCV" >/dev/null
finish
