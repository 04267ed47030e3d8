#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 120
#
# A queue in zero-copy mode delivers a packet in two pieces. Both are dropped, and the engine leaves the queue at once
# and binds it again in copy mode: connections take the kernel path meanwhile, lose nothing, and come back. The mode and
# the pieces are made up here (rebind.c, cut.c), all else is real.
. "${0%/*}/../lib/lib.sh"

wire_up plain 1500
load_patient rcv || fail load "exit code $?"
mac=$(in_ns rcv cat "/sys/class/net/$IF_RCV/address" 2>/dev/null)
[[ $mac ]] || mac=$(in_ns rcv ip -o link show dev "$IF_RCV" | sed 's/.*ether \([0-9a-f:]*\).*/\1/')
loop=$BUILD/tests/net/path/loop
rounds=60000
report=$TMP/serve

bound() { grep -s '^bound, ' "$TMP/rebind" | tail -n "+$1" | grep -q .; }
ready() { grep -s '^ready' "$TMP/rebind" | tail -n "+$1" | grep -q .; }
cuts() { in_ns rcv "$BUILD/xiwarp" status "$IF_RCV" --json | grep -q "\"cut\":$1,"; }
datagrams() {
	in_ns rcv nstat -asz UdpNoPorts UdpInDatagrams |
		awk '/^Udp/ { n += $2 } END { print n + 0 }'
}
came() { in_ns rcv "$BUILD/xiwarp" status "$IF_RCV" --json | grep -o '"packets":{[^}]*}'; }
silent() { [ "$(came)" = "$(sleep 0.05; came)" ]; }
direct() { in_ns rcv "$BUILD/xiwarp" status "$IF_RCV" | grep -q 'path  *direct'; }

spawn server rcv serve "$loop" level serve $V4_RCV 15044 $rounds
wait_listen rcv 15044
spawn client snd ask "$loop" level ask $V4_RCV 15044 $rounds
wait_until 20 direct || fail direct "$(in_ns rcv "$BUILD/xiwarp" status "$IF_RCV")"
times=5
before=$(datagrams)
# The peer's segments are small or full, so no frame is longer than these.
spawn rebind rcv rebind "$BUILD/tests/net/path/rebind" "$IF_RCV" $times 1514
for ((i = 1; i <= times; i++)); do
	wait_until 20 ready $i || fail "ready-$i" "$(cat "$TMP/rebind")"
	# On a ring of hardware nothing comes between the pieces.
	kill -STOP "$client"
	wait_until 20 silent || fail "silent-$i" "packets come while the peer stands still"
	in_ns snd "$BUILD/tests/net/path/cut" "$IF_SND" "$mac" 192.0.2.66 $V4_RCV 1514 100 7777
	kill -CONT "$client"
	wait_until 20 bound $i || fail "bound-$i" "$(cat "$TMP/rebind")"
	wait_until 20 direct || fail "direct-again-$i" "$(in_ns rcv "$BUILD/xiwarp" status)"
done
reap "$rebind" 5
expect inner-frame-is-not-received [ "$(datagrams)" = "$before" ]
expect counted cuts $times
expect told sh -c "nsenter --net=/run/netns/$(_ns rcv) '$BUILD/xiwarp' status $IF_RCV |
	grep -q 'its hardware has cut $times packets in two'"
reap "$client" 60 || fail client "$(cat "$TMP/ask")"
reap "$server" 10 || fail server "$(cat "$TMP/serve")"
expect all-came [ "$(field received)" = $((2 * rounds)) ]
expect streams-fell-back grep -q '"queues bound anew":[1-9]' "$TMP/serve"
finish
