#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# `xiwarp status` shows what is counted. Every field of a flow slot and of a queue is either a state, which is listed
# here, or a counter that --json shows. What it shows of a connection equals the connection's own counters, on every
# path.
# timeout: 60
. "${0%/*}/../lib/lib.sh"

xiwarp=$BUILD/xiwarp
pins=/sys/fs/bpf/xiwarp/$IF_RCV

# Fields that count no events: the state of the hand-off, and what else is a state. No counter is of less than 4 bytes.
STATES="owner kernel_nxt flags marker_origin rcv_wscale window ts_recent direct_edge
	run_needed ece kernel_high beyond run_end run_len snd_nxt kernel_edge socket_edge
	egress_floor
	out_class echoed acked pid ifindex engine served_by other_queue barred try_ns
	began_ts gap try_nxt try_seen seen grouped beat_ns emptied_ns last_ns wait_ns tick tick_ns
	takes room longest cut rest
	direct[0] direct[1] direct[2] direct[3]"

# Every field is a state or shown. A state that no longer exists, or that is shown, must leave the list.
fields_shown() {
	local name value missing= known=
	in_ns rcv "$BUILD/tests/net/admin/status" fill "$BUILD/bpf/xiwarp.bpf.o" "$pins" "$xiwarp" \
		"$IF_RCV" >"$TMP/fields" 2>"$TMP/json" || { cat "$TMP/json"; return 1; }
	while read -r name value; do
		[[ ${name%[*} == reserved* ]] && continue
		known+=" $name "
		[[ " ${STATES//[$'\n\t']/ } " == *" $name "* ]] && continue
		grep -q ":$value[,}]" "$TMP/json" || missing+=" $name"
	done <"$TMP/fields"
	for name in $STATES; do
		[[ $known == *" $name "* ]] || missing+=" $name(no-such-field)"
	done
	[[ -z $missing ]] && (($(wc -l <"$TMP/fields") > 40)) && return
	echo "not in status:$missing"
	cat "$TMP/json"
	return 1
}

# Verdicts of single packets: each has a name.
stats_shown() {
	local n
	n=$(sed -n '/^enum xiw_stat {/,/XIW_STAT__COUNT/p' "$ROOT/include/xiwarp/abi.h" |
		grep -c '^	XIW_STAT_[A-Z]')
	((n > 8 && $(grep -o '"packets":{[^}]*}' "$TMP/json" | grep -o '":' | wc -l) == n + 1))
}

one_run() { # NAME HOW
	local recv send rc sent direct kernel
	spawn recv rcv recv "$BUILD/tests/net/admin/status" recv "$xiwarp" "$IF_RCV"
	wait_listen rcv 15046 5
	spawn send snd send "$BUILD/tests/net/admin/status" send "$V4_RCV" 8 "$2"
	reap "$send" 20 || stop "$send"
	reap "$recv" 10
	rc=$?
	((rc == 124)) && stop "$recv"
	sent=$(field sent "$TMP/send") direct=$(field stream_direct "$TMP/recv") \
		kernel=$(field stream_kernel "$TMP/recv")
	if ((rc)); then
		fail "$1" "exit code $rc: $(cat "$TMP/recv" "$TMP/send")"
	elif ((!sent || direct + kernel != sent)); then
		fail "$1" "octets: $(cat "$TMP/recv" "$TMP/send")"
	elif [[ $2 == aligned ]] && ((direct * 10 < sent * 9)); then
		fail "$1" "hardly direct: $(cat "$TMP/recv")"
	elif [[ $2 == misaligned ]] && ((direct)); then
		fail "$1" "direct: $(cat "$TMP/recv")"
	elif [[ $2 == mixed ]] && ((direct < 1 << 20 || kernel < 1 << 20)); then
		fail "$1" "not mixed: $(cat "$TMP/recv")"
	else
		pass "$1"
	fi
}

wire_up plain
wire_clamp 262144
load_patient rcv || exit 1
expect every-counter fields_shown
expect every-verdict stats_shown
one_run by-the-kernel misaligned
one_run direct aligned
one_run mixed mixed

# The MTU grows behind the load, and the receiver, which has given up its capabilities, cannot bind its queues anew.
says_of_mtu() { # WORDS
	in_ns rcv "$xiwarp" status "$IF_RCV" >"$TMP/text"
	grep -q "$1" "$TMP/text" || { cat "$TMP/text"; return 1; }
}
of_mtu() { # LOADED OUTGROWN
	in_ns rcv "$xiwarp" status --json "$IF_RCV" | grep -q "\"loaded_mtu\":$1,\"outgrown\":$2,"
}
spawn sink rcv sink "$xiwarp" sink
wait_listen rcv 15044
expect mtu-as-loaded of_mtu 1500 0
in_ns rcv ip link set "$IF_RCV" mtu 3000
expect mtu-grown says_of_mtu "its MTU was 1500 when the programs were loaded"
expect mtu-beyond-queues says_of_mtu "queues 0 take no packets as long as the MTU"
expect mtu-json of_mtu 1500 1
stop "$sink" INT >/dev/null
expect mtu-no-receiver of_mtu 1500 0
in_ns rcv "$xiwarp" unload "$IF_RCV" --force >/dev/null
expect mtu-loaded-anew in_ns rcv "$xiwarp" load "$IF_RCV"
expect mtu-loaded-anew-json of_mtu 3000 0
in_ns rcv "$xiwarp" unload "$IF_RCV" >/dev/null
finish
