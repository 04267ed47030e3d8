#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 120
#
# The engine and the kernel's socket acknowledge by turns: a peer sees acknowledgements in order, and a window whose
# right edge never moves left (RFC 9293 section 3.8.6.2.1). edges.c reads them on the wire; the sender's TCP counts
# those that came too late.
. "${0%/*}/../lib/lib.sh"

report=$TMP/edges
# Acknowledgements below SND.UNA, which TCP ignores.
late() {
	in_ns snd nstat -asz TcpExtTCPACKSkippedSeq TcpExtPAWSOldAck |
		awk '/^TcpExt/ { n += $2 } END { print n + 0 }'
}

# watched NAME PORT "RECEIVER..." SENDER...: one connection with data both ways; the receiver's report is in $TMP/rcv.
watched() {
	local port=$2 watch receiver sender rc=0 before
	before=$(late)
	spawn watch snd edges "$BUILD/tests/net/path/edges" -v "$IF_SND" "$port"
	wait_until 10 grep -q ready "$TMP/edges" || fail "$1" "no capture: $(<"$TMP/edges")"
	# shellcheck disable=SC2086
	spawn receiver rcv rcv $3
	wait_listen rcv "$port"
	spawn sender snd snd "${@:4}"
	reap "$sender" 30 || rc=1
	reap "$receiver" 10 || rc=1
	stop "$watch"
	skipped=$(($(late) - before))
	((rc == 0)) || fail "$1" "$(cat "$TMP/snd" "$TMP/rcv")"
	return "$rc"
}

# If this machine stalls, XDP may take the engine for stalled, and both acknowledge at once: the test is repeated.
undisturbed() {
	for _ in 1 2 3 4; do
		watched "$@" || return
		grep -qE 'watchdog|did not run' "$TMP/rcv" || return 0
	done
	echo "$1: the watchdog was there each time"
}

# pings SIZE COUNT [OPTION...]: each end waits for the other before it sends, so that nothing may cross.
pings() {
	local name="pings of $1 octets${3:+ $3}"
	undisturbed "$name" 7174 "$BUILD/xiwarp rping -s -p 7174 --json ${*:3}" "$BUILD/xiwarp" \
		rping -c -a "$V4_RCV" -p 7174 -C "$2" -S "$1" -V --path kernel "${@:3}" || return
	if (($(field segments) < 2 * $2 || $(field lost) > 0)) ||
		(($(field octets_direct "$TMP/rcv") <= $(field octets_kernel "$TMP/rcv"))); then
		fail "$name" "not seen, or not direct: $(tail -n 1 "$report") $(cat "$TMP/rcv")"
	elif (($(field acks_back) || $(field edges_back) || skipped)); then
		fail "$name" "$skipped late; $(grep -m 5 '^id' "$report") $(tail -n 1 "$report")"
	else
		pass "$name"
	fi
}

# From one path to the other and back. The kernel also sends on its own, and its segment may cross an ACK.
hand_offs() {
	local name=hand-offs
	undisturbed $name 15045 "$BUILD/tests/net/path/alt -d -b 64 -t 60 recv" \
		"$BUILD/tests/net/path/alt" -b 64 -t 60 send "$V4_RCV" || return
	if (($(field went_direct "$TMP/rcv") < 20 || $(field segments) < 500 ||
		$(field lost) > 0)); then
		fail $name "not seen, or no hand-offs: $(tail -n 1 "$report") $(cat "$TMP/rcv")"
	elif (($(field engines_back) || $(field acks_back) > 5 || skipped > 5)); then
		fail $name "$skipped late; $(grep -m 5 '^id' "$report") $(tail -n 1 "$report")"
	else
		pass "$name" "($(field went_direct "$TMP/rcv") to direct," \
			"$(field edges_back) edges back of $(field segments))"
	fi
}

wire_up plain 1500
wire_clamp 262144 # veth's ring holds 256 frames
load_patient rcv || fail load "exit code $?"
pings 64 1000
pings 64 1000 --markers
pings 4096 500
pings 256K 100
hand_offs
in_ns rcv "$BUILD/xiwarp" unload "$IF_RCV" --force >/dev/null || fail unload "exit code $?"
finish
