#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 400
#
# One stream of 1 GiB, alternately aligned and misaligned, with data flowing back. Every octet is compared at both ends,
# and the hand-offs are counted, with each combination of IP version, timestamps and SACK.
#
# The sender's initial sequence number makes the wire's numbers wrap after 288 MiB. The kernel socket's numbers lag
# behind by the octets that went direct, so they wrap later.

. "${0%/*}/../lib/lib.sh"

MIB=1024 TURNS=300 ISN=0xee000000 WRAP=$((0x12000000))

one_run() { # NAME ADDRESS OPTION...
	local name=$1 address=$2 sent=$TMP/sent got=$TMP/got rc_recv rc_send
	shift 2
	spawn RECV rcv got "$BUILD/tests/net/path/alt" -d "$@" recv
	wait_listen rcv 15045 5
	spawn SEND snd sent "$BUILD/tests/net/path/alt" "$@" send "$address"
	reap "$SEND" 60
	rc_send=$?
	reap "$RECV" 20
	rc_recv=$?
	if ((rc_send || rc_recv)); then
		stop "$SEND"
		stop "$RECV"
		fail "$name" "exit codes $rc_send, $rc_recv: $(cat "$sent" "$got" | tail -n 4)"
		return
	fi
	local octets went_direct went_kernel direct kernel back
	octets=$(field octets "$got") went_direct=$(field went_direct "$got")
	went_kernel=$(field went_kernel "$got") direct=$(field octets_direct "$got")
	kernel=$(field octets_kernel "$got") back=$(field octets_back "$sent")
	if ((octets != MIB << 20 || direct + kernel != octets)); then
		fail "$name" "octets: $(cat "$got")"
	elif ((went_direct < 200 || went_kernel < 200)); then
		fail "$name" "fewer than 200 hand-offs: $(cat "$got")"
	elif ((back < octets / 8 || back != $(field octets_back "$got"))); then
		fail "$name" "data flowing back: $(cat "$sent" "$got")"
	elif ((kernel < WRAP || direct < WRAP / 4)); then
		fail "$name" "numbers did not wrap on both sides: $(cat "$got")"
	else
		pass "$name" "($went_direct to direct, $went_kernel to kernel," \
			"$((direct * 100 / octets)) % direct)"
	fi
}

wire_up plain 1500 || exit 1
# No more in flight than veth's ring takes: hand-offs are tested here, and without SACK TCP repairs losses slowly.
wire_clamp 262144
load_patient rcv || exit 1
for ts in 1 0; do
	for sack in 1 0; do
		for side in snd rcv; do
			tcp_timestamps $side $ts
			tcp_sack $side $sack
		done
		one_run "alternating IPv4 timestamps=$ts sack=$sack" "$V4_RCV" -b $MIB -t $TURNS \
			-i $ISN
		one_run "alternating IPv6 timestamps=$ts sack=$sack" "$V6_RCV" -b $MIB -t $TURNS \
			-i $ISN
	done
done
in_ns rcv "$BUILD/xiwarp" unload "$IF_RCV" --force > /dev/null
finish
