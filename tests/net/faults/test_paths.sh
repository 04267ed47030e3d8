#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# A second link between the two hosts, in the same subnet: either host answers for its addresses on both links.
# Promised: a connection whose segments come or leave by another interface than that of its address goes on by the
# kernel path, as plain TCP would, and says so. One that has been direct needs the programs: it ends at both ends
# within seconds, and says so. Injected segments never leave the host, whatever becomes of the address. timeout: 240
. "${0%/*}/../lib/lib.sh"
. "${0%/*}/trouble.sh"

second_rcv=$_if_mid_rcv second_snd=$_if_mid_snd

second_link() {
	local side link
	_make_pair snd "$second_snd" rcv "$second_rcv" || return
	for side in snd rcv; do
		link=$second_snd
		[[ $side == rcv ]] && link=$second_rcv
		in_ns "$side" ethtool -K "$link" tx off tso off gso off >/dev/null &&
			in_ns "$side" ip link set "$link" up || return
		for link in all default "$link" "$(_if "$side")"; do
			set_sysctl "$side" "net.ipv4.conf.${link}.rp_filter" 0 || return
		done
	done
}

# Chooses the link to the receiver, or from it.
to_rcv() { in_ns snd ip route replace "$V4_RCV/32" dev "$1" src "$V4_SND"; }
to_snd() { in_ns rcv ip route replace "$V4_SND/32" dev "$1" src "$V4_RCV"; }
usual() {
	in_ns snd ip route del "$V4_RCV/32" 2>/dev/null
	in_ns rcv ip route del "$V4_SND/32" 2>/dev/null
	true
}

# ended NAME RECEIVER ID WORDS: the connection has ended at both ends because it needs the programs.
ended() {
	ended_with "$1-ends" "$2" "$3" "Protocol driver not attached"
	breaks "$1-peer-told" "$3" "Connection reset by peer"
	expect "$1-told" told "$2" "$3" "$4"
}

wire_up plain
wire_clamp 262144
second_link || fail second-link "could not be built"
load || fail load "exit code $?"
# ---- a file that is whole before anybody has looked at the ways of its packets
random_file "$TMP/short" 1
mkdir "$TMP/served"
brief() { # NAME WORDS
	spawn SERVE rcv "$1.json" "$BUILD/xiwarp" serve --once --force --json --listen "$V4_RCV" \
		"$TMP/served"
	wait_listen rcv 15044 && in_ns snd timeout 20 "$BUILD/xiwarp" put "$TMP/short" "$V4_RCV" \
		>"$TMP/put" && reap "$SERVE" 10 && grep -q "\"no_direct\":\"$2" "$TMP/$1.json" ||
		{ cat "$TMP/$1.json" "$TMP/put"; return 1; }
}
# remembers REASON
remembers() { in_ns rcv "$BUILD/xiwarp" status "$IF_RCV" | grep "against the direct path: .*$1"; }
to_rcv "$second_snd"
expect short-comes-elsewhere-told brief comes "its segments do not come by $IF_RCV"
expect short-comes-elsewhere-remembered remembers "another interface"
usual
to_snd "$second_rcv"
expect short-leaves-elsewhere-told brief leaves "its packets do not leave by $IF_RCV"
expect short-leaves-elsewhere-remembered remembers "egress not seen"
usual

receive A -s 30

# ---- from the start
to_rcv "$second_snd"
transmit 1 -r 20
under_way A 1 kernel
expect comes-elsewhere-told told A 1 "its segments do not come by $IF_RCV"
finishes comes-elsewhere A 1
usual

to_snd "$second_rcv"
transmit 2 -r 20
under_way A 2 kernel
expect leaves-elsewhere-told told A 2 \
	"its packets do not leave by $IF_RCV: xiw_egress does not see them"
finishes leaves-elsewhere A 2
usual

# ---- in the middle of a connection that was never direct
transmit 3 -r 20 -m
under_way A 3 kernel
to_rcv "$second_snd"
expect moves-to-another moves A 3
to_snd "$second_rcv"
expect answers-by-another moves A 3
usual
expect moves-back moves A 3
kill -USR2 "$SEND_3"
expect stays-with-the-kernel moves A 3
[[ $(state A 3 octets_direct) == 0 ]] && pass stays || fail stays "$(cat "$TMP/A.state")"
finishes never-direct-complete A 3

# ---- in the middle of one that is direct
# The engine's acknowledgements leave by the link of the segments. Only the socket's own segments take the other link.
transmit 5 -r 20
under_way A 5 direct
to_snd "$second_rcv"
expect direct-answers-elsewhere moves A 5
kill -USR2 "$SEND_5"
ended direct-leaves A 5 "its packets do not leave by $IF_RCV any more"
usual

# ---- the address goes away
# The receiver gets a second address for this test, and a route for any destination.
V4_RCV_WAS=$V4_RCV
in_ns rcv ip addr add 10.77.0.9/24 dev "$IF_RCV"
in_ns rcv ip route add default via "$V4_SND" dev "$second_rcv" onlink
V4_RCV=10.77.0.9
transmit 6 -r 20
under_way A 6 direct
transmit 7 -r 20 -m
under_way A 7 kernel
# The address is removed and restored at once, as DHCP may do: nothing happens.
in_ns rcv ip addr del 10.77.0.9/24 dev "$IF_RCV"
in_ns rcv ip addr add 10.77.0.9/24 dev "$IF_RCV"
expect address-back-direct moves A 6
expect address-back-kernel moves A 7
# For some seconds: TCP waits for it, and so do connections that were direct.
in_ns rcv ip addr del 10.77.0.9/24 dev "$IF_RCV"
expect address-gone-told told A 6 "its local address is gone"
expect address-gone-kernel-told told A 7 "its local address is gone"
in_ns rcv ip addr add 10.77.0.9/24 dev "$IF_RCV"
expect address-gone-direct-goes-on moves A 6
expect address-gone-kernel-goes-on moves A 7
finishes address-gone-direct-complete A 6
finishes address-gone-kernel-complete A 7
V4_RCV=$V4_RCV_WAS

# ---- where injected segments go
# inject NAME SOURCE DESTINATION WANTED
inject() {
	local said
	said=$(in_ns rcv "$BUILD/tests/net/faults/paths" "$second_rcv" "$2" "$3" 2>&1)
	[[ $said == "$4" ]] && pass "$1" || fail "$1" "$said"
}
# Neighbours that would take them.
in_ns rcv ip neigh replace "$V4_SND" lladdr 02:00:00:00:00:01 dev "$second_rcv"
in_ns rcv ip neigh replace 10.77.0.9 lladdr 02:00:00:00:00:01 dev "$second_rcv"
in_ns rcv ip route replace 10.77.0.9/32 dev "$second_rcv"
in_ns rcv ip -6 addr add fd78::2/64 dev "$second_rcv" nodad
in_ns rcv ip -6 neigh replace fd78::1 lladdr 02:00:00:00:00:01 dev "$second_rcv"
in_ns rcv ip -6 route add default via fd78::1 dev "$second_rcv"
inject inject-v4 "$V4_SND" "$V4_RCV" "left 0, came by lo 10"
inject inject-v4-on-link "$V4_SND" 10.77.0.9 "left 0, came by lo 10"
inject inject-v4-default-route "$V4_SND" 10.99.0.9 "left 0, came by lo 10"
inject inject-v6 "$V6_SND" "$V6_RCV" "left 0, came by lo 10"
inject inject-v6-default-route "$V6_SND" fd99::9 "left 0, came by lo 10"
# A link-local address of the interface, and one that is elsewhere on the link, perhaps because it moved.
in_ns rcv ip -6 addr add fe80::77/64 dev "$second_rcv" nodad
in_ns rcv ip -6 neigh replace fe80::78 lladdr 02:00:00:00:00:01 dev "$second_rcv"
inject inject-v6-link-local fe80::79 fe80::77 "left 0, came by lo 10"
inject inject-v6-link-local-gone fe80::79 fe80::78 "left 0, came by lo 0"
set_sysctl rcv net.ipv4.conf.all.forwarding 1
set_sysctl rcv net.ipv6.conf.all.forwarding 1
inject inject-v4-router "$V4_SND" 10.99.0.9 "left 0, came by lo 10"
inject inject-v6-router "$V6_SND" fd99::9 "left 0, came by lo 10"

transmit 8 -r 20
under_way A 8 direct
finishes at-last-direct-again A 8
no_trace no-trace
quit receiver-ends A
unload >/dev/null || fail unload "exit code $?"

# ---- the peer's segments leave the link of one that is direct, for good and for a second
# What comes by the other link is lost. Of both the interface remembers that later streams would stand still.
load || fail moves-load "exit code $?"
receive B -s 30
transmit 4 -r 20
under_way B 4 direct
to_rcv "$second_snd"
ended direct-moves B 4 "its segments do not come by $IF_RCV any more"
expect direct-moves-remembered remembers "another interface.*keeps off $V4_SND"
usual
quit moves-receiver-ends B
unload >/dev/null || fail moves-unload "exit code $?"
load || fail detour-load "exit code $?"
receive C -s 30
transmit 9 -r 20
under_way C 9 direct
to_rcv "$second_snd"
sleep 1
usual
expect detour-goes-on moves C 9
expect detour-told told C 9 "its segments do not come by $IF_RCV"
finishes detour-complete C 9
transmit 10 -r 20
under_way C 10 kernel
finishes detour-remembered C 10
quit detour-receiver-ends C
unload >/dev/null || fail detour-unload "exit code $?"

# ---- more queues than are served
# The sender chooses the queue, as a NIC's hash would: by XPS, which names queues for processors.
on_queue() {
	local all
	printf -v all '%x' $(((1 << $(nproc)) - 1))
	ip netns exec "$(_ns snd)" sh -c "cd /sys/class/net/$IF_SND/queues &&
		printf 0 >tx-63/xps_cpus && printf 0 >tx-64/xps_cpus &&
		printf $all >tx-$1/xps_cpus" 2>/dev/null
}
wire_up plain 1500 65
wire_clamp 262144
if on_queue 64; then
	load || fail queues-load "exit code $?"
	receive Q -f 256
	transmit 1 -r 20
	under_way Q 1 kernel
	expect queue-not-served-told told Q 1 \
		"$IF_RCV has 65 queues, and only 64 are served: 'ethtool -L'"
	on_queue 63
	under_way Q 1 direct
	expect queue-served-not-told wait_until "$LONG" _told Q 1 '"'
	finishes queues-complete Q 1
	quit queues-receiver-ends Q
	unload >/dev/null || fail queues-unload "exit code $?"
else
	skip queues "no XPS"
fi
finish
