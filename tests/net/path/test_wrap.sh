#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 120
#
# The sequence numbers wrap while segments are reordered, doubled, recut and lost, and the stream goes from one path
# to the other. Every octet is compared (alt.c) and counted once; and edges.c checks that no acknowledgement and no
# SACK block covers octets that were never sent (RFC 2018 section 3).
. "${0%/*}/../lib/lib.sh"

report=$TMP/got mib=4 seed=0

# across ISN MTU KNOBS OPTION...
across() { # $2: said only
	local isn=$1 name="$1 at MTU $2, $3${4:+ $4}" knobs=$3 watch receiver sender relay rc=0
	shift 3
	relay_start relay -s $((++seed)) -f "$knobs" -r ack-loss=1 || fail "$name" "no relay"
	spawn watch snd edges "$BUILD/tests/net/path/edges" -v "$IF_SND" 15045
	wait_until 10 grep -q ready "$TMP/edges" || fail "$name" "no capture: $(<"$TMP/edges")"
	spawn receiver rcv got "$BUILD/tests/net/path/alt" -d -s $seed "${@:2}" recv
	wait_listen rcv 15045
	spawn sender snd sent "$BUILD/tests/net/path/alt" -b $mib -t 30 -s $seed -i "$isn" \
		"${@:2}" send "$V4_RCV"
	reap "$sender" 30 || rc=1
	reap "$receiver" 10 || rc=1
	stop "$watch"
	relay_stop "$relay" >/dev/null
	if ((rc)); then
		stop "$receiver"
		fail "$name" "$(cat "$TMP/sent" "$TMP/got" | tail -n 4)"
	elif (($(field octets) != mib << 20 ||
		$(field octets_direct) + $(field octets_kernel) != mib << 20)); then
		fail "$name" "not counted once: $(<"$TMP/got")"
	elif (($(field went_direct) < 1 || $(field blocks "$TMP/edges") < 1 ||
		$(field lost "$TMP/edges") > 0)); then
		fail "$name" \
			"nothing direct, or nothing seen: $(tail -n 1 "$TMP/edges") $(<"$TMP/got")"
	elif (($(field unsent "$TMP/edges"))); then
		fail "$name" "$(grep -m 5 SACK "$TMP/edges") $(tail -n 1 "$TMP/edges")"
	else
		pass "$name" "($(field octets_direct) octets direct," \
			"$(field blocks "$TMP/edges") SACK blocks)"
	fi
}

for mtu in 1500 9000; do
	if ((mtu > 1500)) && ! kernel_has 6 6; then
		skip "MTU $mtu" "packets of several frames need Linux 6.6"
		continue
	fi
	wire_up relay $mtu
	wire_clamp 196608
	load_patient rcv || fail load "exit code $?"
	# The first octets, in the middle of a stretch, and near the end.
	across 0xfffffff0 $mtu reorder=2:6,dup=1
	across 0xffffff00 $mtu reorder=2:6,dup=1 -m
	across 0xffff0000 $mtu loss=1,reorder=1,dup=1,split=5,merge=5
	across 0xfff00000 $mtu reorder=2:6,dup=1 -m
	across 0xffd80000 $mtu reorder=2:6,dup=1
	in_ns rcv "$BUILD/xiwarp" unload "$IF_RCV" --force >/dev/null || fail unload "exit code $?"
done
finish
