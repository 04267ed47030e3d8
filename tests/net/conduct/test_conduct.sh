#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# How our TCP answers a peer that sends what no real TCP would (conduct.c). The answers on the kernel path and on the
# direct path may differ only where a script says so. timeout: 240
# CASE=name: only scripts with this in their name.
. "${0%/*}/../lib/lib.sh"

v4=10.77.0.9 v6=fd77::9 mac=02:00:00:00:00:09 # the peer's: no interface has them

mac_of() { # IF
	in_ns rcv ip -o link show dev "$1" | sed 's/.*link\/ether \([0-9a-f:]*\).*/\1/'
}

wire_up plain
# A second wire between the two, with a name that the library's sweep knows.
second_snd=${IF_SND%s}t second_rcv=${IF_RCV%r}q
ip link add "$second_snd" netns "$(_ns snd)" type veth peer name "$second_rcv" netns "$(_ns rcv)" &&
	in_ns snd ip link set "$second_snd" up && in_ns rcv ip link set "$second_rcv" up ||
	fail wire "the second wire"
for key in all default "$IF_RCV" "$second_rcv"; do
	set_sysctl rcv "net.ipv4.conf.$key.rp_filter" 0
done
in_ns rcv ip neigh replace $v4 lladdr $mac dev "$IF_RCV" nud permanent ||
	fail neighbour "exit code $?"
in_ns rcv ip neigh replace $v6 lladdr $mac dev "$IF_RCV" nud permanent ||
	fail neighbour "exit code $?"
# Since 6.7, Linux may answer all that came while the application was reading with one ACK.
[[ ! -e /proc/sys/net/ipv4/tcp_backlog_ack_defer ]] ||
	set_sysctl rcv net.ipv4.tcp_backlog_ack_defer 0 || fail defer "exit code $?"
# Segments must arrive as they were sent: merged ones would be acknowledged as one.
in_ns rcv ethtool -K "$IF_RCV" gro off || fail gro "exit code $?"
in_ns rcv "$BUILD/xiwarp" load "$IF_RCV" >/dev/null || fail load "exit code $?"
spawn pid rcv out "$BUILD/tests/net/conduct/conduct" "/run/netns/$(_ns snd)" "$IF_SND" \
	"$second_snd" "$(mac_of "$IF_RCV")" "$(mac_of "$second_rcv")" ${CASE:+"$CASE"}
reap "$pid" 200
rc=$?
((rc == 124)) && stop "$pid"
cat "$TMP/out"
((rc > 1)) && fail conduct "exit code $rc"
((rc == 1)) && ((_failures++))
in_ns rcv "$BUILD/xiwarp" unload --force "$IF_RCV" >/dev/null || fail unload "exit code $?"
finish
