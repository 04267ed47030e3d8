#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 120
#
# GRO joins packets below a bridge, a VLAN, a macvlan or an ipvlan, and the other end of a veth sends them joined. Where
# the programs run in generic mode, they get packets that AF_XDP does not take: none is redirected, so that nothing is
# lost. The connection is told why, and goes direct when packets are not joined any more.
. "${0%/*}/../lib/lib.sh"

up=xw${_id}u
wire_up plain || exit 1
random_file "$TMP/file" 24

# One transfer to ADDRESS; the report is in $TMP/json.
transfer() {
	local server
	spawn server rcv json "$BUILD/xiwarp" serve --json --once --create "$TMP/in"
	wait_listen rcv 15044 || return
	if ! in_ns snd "$BUILD/xiwarp" put "$TMP/file" "$1" >"$TMP/put" 2>&1; then
		cat "$TMP/put"
		return 1
	fi
	reap "$server" 10
	rm -f "$TMP/in/file"
	report=$TMP/json
}

# A packet that XDP redirects and AF_XDP drops is missed by the watchdog, or by the peer.
nothing_lost() {
	! grep -qE '"(frames lost before AF_XDP|watchdog)":' "$TMP/json"
}

mostly_direct() {
	(($(field octets_direct "$TMP/json") > $(field octets_kernel "$TMP/json")))
}

# joined NAME ADDRESS WORDS UNJOIN...: packets are joined; UNJOIN ends that.
joined() {
	local name=$1 address=$2 words=$3 i
	shift 3
	for i in 1 2; do
		transfer "$address" || { fail "$name-transfer-$i" "$(cat "$TMP/json")"; return; }
		nothing_lost || { fail "$name-nothing-lost-$i" "$(cat "$TMP/json")"; return; }
	done
	pass "$name-nothing-lost"
	expect "$name-told" grep -qF "are longer than its MTU: $words" "$TMP/json"
	"$@" >/dev/null
	transfer "$address" || { fail "$name-unjoined" "$(cat "$TMP/json")"; return; }
	expect "$name-direct-again" mostly_direct
}

over() { # NAME ADDRESS: of the interface $up
	in_ns rcv ip link set "$up" up
	expect "$1-load" in_ns rcv "$BUILD/xiwarp" load "$up"
	in_ns rcv ethtool -K "$IF_RCV" gro on >/dev/null
	joined "$1" "$2" "ethtool -K $IF_RCV gro off" in_ns rcv ethtool -K "$IF_RCV" gro off
	in_ns rcv "$BUILD/xiwarp" unload "$up" >/dev/null
	in_ns rcv ip link del "$up"
}

in_ns snd ip addr add 10.78.0.1/24 dev "$IF_SND"

in_ns rcv ip link add link "$IF_RCV" name "$up" type macvlan mode bridge
in_ns rcv ip addr add 10.78.0.2/24 dev "$up"
over macvlan 10.78.0.2

in_ns rcv ip link add "$up" type bridge
in_ns rcv ip link set "$IF_RCV" master "$up"
in_ns rcv ip addr add 10.78.0.3/24 dev "$up"
over bridge 10.78.0.3

if in_ns snd ip link add link "$IF_SND" name "$up" type vlan id 5 2>/dev/null; then
	in_ns snd ip link set "$up" up
	in_ns snd ip addr add 10.79.0.1/24 dev "$up"
	in_ns rcv ip link add link "$IF_RCV" name "$up" type vlan id 5
	in_ns rcv ip addr add 10.79.0.2/24 dev "$up"
	over vlan 10.79.0.2
else
	skip vlan "this kernel has no VLANs"
fi

# The other end of a veth, with checksums that are finished as far as the socket can tell.
in_ns rcv "$BUILD/xiwarp" load --mode generic "$IF_RCV" >/dev/null
in_ns snd ethtool -K "$IF_SND" tx on tso on gso on >/dev/null
joined veth "$V4_RCV" 'at its other end, ethtool -K VETH tso off' \
	in_ns snd ethtool -K "$IF_SND" tso off gso off
finish
