#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 240
#
# Netfilter of bridges: conntrack sees a bridge's packets before XDP on the bridge does, and so the wire's numbers of
# what comes and the socket's of what leaves. Promised: no connection goes direct there, and load, status and the
# connection say why, and what to do; if it is turned on later, that is noticed; a firewall that drops what conntrack
# calls invalid stops nothing.
. "${0%/*}/../lib/lib.sh"

wire_up plain 1500 || exit 1
if ! in_ns rcv test -e /proc/sys/net/bridge/bridge-nf-call-iptables; then
	skip bridge "the kernel has no br_netfilter"
	finish
fi

PORT=15044 BR=xw${_id}b
xiwarp=$BUILD/xiwarp
SYSCTL="sysctl net.bridge.bridge-nf-call-iptables=0"

call() { set_sysctl rcv "net.bridge.bridge-nf-call-$1" "$2"; } # iptables|ip6tables 0|1
own() { in_ns rcv ip link set "$BR" type bridge "nf_call_$1" "$2"; } # the bridge's
load() { in_ns rcv "$xiwarp" load "${1:-$BR}" --mode generic >/dev/null; }
unload() { in_ns rcv "$xiwarp" unload "${1:-$BR}" --force >/dev/null; }
status() { in_ns rcv "$xiwarp" status "$BR" "$@"; }
is_direct() { status --json | grep -q '"path":"direct"'; }
says() { status | grep -qF "no connection goes direct: $1"; }
says_nothing() { ! status | grep -q "no connection goes direct"; }
counts() { status --json | grep -q '"reason":"netfilter of a bridge"'; }

# begin OPTION...: a client's run under way.
begin() {
	spawn SERVER rcv server "$xiwarp" perf -s --once --peer-timeout 8 --json
	wait_listen rcv "$PORT"
	spawn CLIENT snd client "$xiwarp" perf --peer-timeout 8 --json "$@" "$V4_RCV"
}

goes_on() { # NAME
	local rc
	reap "$CLIENT" 40
	rc=$?
	if ((rc == 0)) && reap "$SERVER" 10; then
		pass "$1"
		return
	fi
	fail "$1" "client: exit code $rc: $(cat "$TMP/client" "$TMP/server")"
	stop "$CLIENT"
	stop "$SERVER"
}
told() { [[ $(field no_direct "$TMP/server") == *"$1"* ]]; }
was_direct() { (($(field octets_direct "$TMP/server") > 1000000)); }

# The packets of the bridge are neither joined below it, nor cut by the peer.
in_ns rcv ip link add "$BR" type bridge
in_ns rcv ethtool -K "$IF_RCV" gro off >/dev/null
in_ns rcv ip addr flush dev "$IF_RCV"
in_ns rcv ip link set "$IF_RCV" master "$BR"
in_ns rcv ip addr add "$V4_RCV/24" dev "$BR"
in_ns rcv ip link set "$BR" up
wire_clamp 131072

# ---- load
call iptables 1
refused load 6 "netfilter precedes XDP on $BR: $SYSCTL" "$xiwarp" load "$BR"
call ip6tables 1
refused load-both 6 "$SYSCTL, and ip6tables" "$xiwarp" load "$BR"
call iptables 0
refused load-ipv6 6 "$BR: sysctl net.bridge.bridge-nf-call-ip6tables=0" "$xiwarp" load "$BR"
call ip6tables 0
own iptables 1
refused load-own 6 "ip link set $BR type bridge nf_call_iptables 0" "$xiwarp" load "$BR"
own iptables 0

# What lies on the bridge. Frames with a tag pass by netfilter, unless a setting or the bridge has it otherwise.
on_bridge() { # KIND OPTION...
	in_ns rcv ip link add link "$BR" name "xw${_id}u" type "$@" &&
		in_ns rcv ip link set "xw${_id}u" up
}
call iptables 1
expect macvlan-made on_bridge macvlan
refused macvlan 6 "netfilter precedes XDP on xw${_id}u: $SYSCTL" "$xiwarp" load "xw${_id}u"
in_ns rcv ip link del "xw${_id}u"
if on_bridge vlan id 7 2>/dev/null; then
	expect vlan-passes-by load "xw${_id}u"
	expect vlan-unloads unload "xw${_id}u"
	set_sysctl rcv net.bridge.bridge-nf-filter-vlan-tagged 1
	refused vlan 6 "netfilter precedes XDP on xw${_id}u: $SYSCTL" "$xiwarp" load "xw${_id}u"
	set_sysctl rcv net.bridge.bridge-nf-filter-vlan-tagged 0
	if in_ns rcv ip link set "$BR" type bridge vlan_filtering 1 2>/dev/null; then
		refused vlan-of-bridge 6 "netfilter precedes XDP on xw${_id}u" "$xiwarp" load \
			"xw${_id}u"
		in_ns rcv ip link set "$BR" type bridge vlan_filtering 0
	fi
	in_ns rcv ip link del "xw${_id}u"
else
	skip vlan "the kernel has no VLANs"
fi
call iptables 0

# ---- without it
expect loads load
at_end unload "$BR"
expect without-says-nothing says_nothing
begin -o send -t 2
expect without-direct wait_until 10 is_direct
goes_on without-goes-on
expect without-was-direct was_direct

# ---- before the receiver begins, with a firewall
nft=$(command -v nft)
if [[ $nft ]]; then
	in_ns rcv nft -f - <<-R
		table inet filter {
			chain input {
				type filter hook input priority filter; policy accept;
				ct state invalid drop
			}
			chain output {
				type filter hook output priority filter; policy accept;
				ct state invalid drop
			}
		}
	R
fi
call iptables 1
expect before-status says "netfilter precedes XDP on $BR: $SYSCTL"
begin -o send --both -t 3
goes_on before-goes-on
expect before-told told "netfilter precedes XDP on $BR: $SYSCTL"
call iptables 0
[[ ! $nft ]] || in_ns rcv nft flush ruleset

# ---- while connections are direct, and off again
begin -o send -t 5
expect later-direct wait_until 10 is_direct
call iptables 1
expect later-falls-back wait_until 5 counts
expect later-not-direct test -z "$(is_direct && echo direct)"
goes_on later-goes-on
expect later-told told "netfilter precedes XDP on $BR: $SYSCTL"
call iptables 0
begin -o send -t 2
expect again-direct wait_until 10 is_direct
goes_on again-goes-on
expect again-not-told test -z "$(field no_direct "$TMP/server")"
expect unloads unload
finish
