#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Every connection ends, in each state and after each act of its peer (ends_table.c). What has arrived before the end is
# delivered before it (ends_held.c). And the commands give up a peer that has vanished. On both paths. timeout: 120
. "${0%/*}/../lib/lib.sh"

xiwarp=$BUILD/xiwarp
GONE=10.77.0.7 # of a host that vanishes

# ends PATH; CELL chooses
ends() {
	in_ns snd ip addr replace $GONE/24 dev "$IF_SND"
	in_ns rcv "$BUILD/tests/net/conn/ends" "$1" "$IF_RCV" $V4_RCV $V4_SND $GONE \
		"/run/netns/$(_ns snd)" "ip -n $(_ns snd) addr del $GONE/24 dev $IF_SND" \
		${CELL:+"$CELL"} || ((_failures++))
	[[ -n ${CELL:-} ]] ||
		in_ns rcv "$BUILD/tests/net/conn/ends_held" "$1" $V4_RCV \
		"/run/netns/$(_ns snd)" || ((_failures++))
}

# Does serve have an unnamed file open?
has_file() {
	[[ -n $(find "/proc/$1/fd" -lname "$TMP/in/*") ]]
}
has_none() {
	! has_file "$1"
}

pings() {
	[[ -n $(in_ns rcv ss -Htn state established 'sport = :7174') ]]
}

# vanish PATH: the host of a file's sender and of an rping client vanishes in the middle.
vanish() {
	local serve server put ping rc
	mkdir -p "$TMP/in"
	in_ns snd ip link set "$IF_SND" up
	spawn serve rcv serve "$xiwarp" serve --path "$1" --peer-timeout 2 "$TMP/in"
	spawn server rcv server "$xiwarp" rping -s --path kernel --peer-timeout 2
	wait_listen rcv 15044 && wait_listen rcv 7174 || fail "vanish-$1" "nobody listens"
	spawn ping snd ping "$xiwarp" rping -c -a $V4_RCV
	wait_until 10 pings || fail "vanish-$1" "no client: $(cat "$TMP/ping")"
	spawn put snd put "$xiwarp" put "$TMP/big" $V4_RCV
	wait_until 10 has_file "$serve" ||
		fail "vanish-$1" "no file: $(cat "$TMP/serve" "$TMP/put")"
	kill -STOP "$put" "$ping"
	in_ns snd ip link set "$IF_SND" down
	stop "$put" KILL
	stop "$ping" KILL
	expect "vanish-$1-before" has_file "$serve"
	expect "vanish-$1-no-file-left" wait_until 6 has_none "$serve"
	expect "vanish-$1-told" grep -q 'Connection timed out' "$TMP/serve"
	reap "$server" 6
	rc=$?
	((rc == 7)) && pass "vanish-$1-rping" ||
		fail "vanish-$1-rping" "exit code $rc: $(cat "$TMP/server")"
	if [[ $1 == direct ]]; then
		expect "vanish-$1-no-flow-left" in_ns rcv "$xiwarp" unload "$IF_RCV"
	fi
	stop "$serve"
}

wire_up plain
# An address at which no host answers.
in_ns rcv ip route add 192.0.2.0/24 via $V4_SND
ends kernel
load_patient rcv || fail load "exit code $?"
ends direct
if [[ -z ${CELL:-} ]]; then
	truncate -s 1G "$TMP/big"
	vanish kernel
	vanish direct
fi
finish
