#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 400
#
# Interfaces of every kind that can be had here, natively and in generic mode, with the peer's checksum offload on
# and off: of 1 + 20 short connections the first may lose one retransmission time-out to whatever the kind does to
# packets, and the others none.

. "${0%/*}/../lib/lib.sh"

OCTETS=300000
KIND_RCV=xw${_id}k # the interface that is made upon IF_RCV
PEER_IF=$IF_SND

# Where the machine stands still for long, no time-out is to come of that alone: the shortest is longer than that.
timeouts() {
	in_ns snd cat /proc/net/netstat | awk '/^TcpExt:/ { if (n++) print $at; else
		for (i = 1; i <= NF; i++) if ($i == "TCPTimeouts") at = i }'
}

send_one() { # NAME
	local rc
	spawn SEND snd sent "$BUILD/tests/net/lib/sendto" -t $OCTETS -o "$TMP/octets" "$V4_RCV" \
		15050
	reap "$SEND" 20
	rc=$?
	((rc == 124)) && stop "$SEND"
	((rc == 0)) || fail "$1" "exit code $rc: $(cat "$TMP/sent")"
	return "$rc"
}

# MODE: native or generic; LOSES: how many time-outs the first connection may have.
connections() { # NAME IF MODE LOSES
	local name=$1 before first='' last i
	[[ $name == *"${CASE:-}"* ]] || return
	if ! in_ns rcv "$BUILD/xiwarp" load "$2" --mode "$3" >"$TMP/load" 2>&1; then
		skip "$name" "$(tail -n 1 "$TMP/load")"
		return
	fi
	spawn SINK rcv json "$BUILD/xiwarp" sink --stag 0x1234 --size 1M --json \
		--listen "$V4_RCV:15050"
	if wait_listen rcv 15050; then
		before=$(timeouts)
		send_one "$name" && first=$(timeouts)
		for ((i = 0; i < 20; i++)); do
			[[ $first ]] && ! send_one "$name" && first=
		done
		last=$(timeouts)
	else
		fail "$name" "nobody listens: $(cat "$TMP/json")"
	fi
	in_ns rcv "$BUILD/xiwarp" status "$2" >"$TMP/status"
	stop "$SINK" INT >/dev/null
	if [[ $first ]]; then
		if ((first - before > $4 || last - first > 0)); then
			fail "$name" "$((first - before)) time-outs, then $((last - first)): $(
				tail -n 1 "$TMP/json")"
		else
			pass "$name"
		fi
	fi
	in_ns rcv "$BUILD/xiwarp" unload "$2" >/dev/null || fail "$name" "unload"
}

offloads() { # GRO TX
	in_ns rcv ethtool -K "$IF_RCV" gro "$1" >/dev/null
	in_ns snd ethtool -K "$PEER_IF" tx "$2" >/dev/null
	[[ $2 == off ]] && in_ns snd ethtool -K "$PEER_IF" tso off gso off >/dev/null
}

all() { # KIND IF MODE...
	local kind=$1 ifname=$2 mode gro tx
	shift 2
	for mode; do
		for gro in off; do
			for tx in off on; do
				offloads $gro $tx
				connections "$kind-$mode-gro-$gro-csum-$tx" "$ifname" "$mode" 1
			done
		done
	done
}

address_to() { # IF
	in_ns rcv ip addr flush dev "$IF_RCV" && in_ns rcv ip addr add "$V4_RCV/24" dev "$1" &&
		in_ns rcv ip link set "$1" up
}

made() { # KIND ...: an interface upon IF_RCV
	in_ns rcv ip link add "$KIND_RCV" "${@:2}" 2>"$TMP/made" && return
	skip "$1" "$(cat "$TMP/made")"
	return 1
}

gone() {
	in_ns rcv ip link del "$KIND_RCV"
}
at_end rm -rf "$_bpffs/xiwarp/$KIND_RCV"

wire_up plain 1500 || exit 1
wire_clamp 131072
set_sysctl snd net.ipv4.tcp_no_metrics_save 1

all veth "$IF_RCV" native generic

if made bridge type bridge; then
	in_ns rcv ip link set "$IF_RCV" master "$KIND_RCV" && address_to "$KIND_RCV" &&
		all bridge "$KIND_RCV" generic
	gone
fi

if made macvlan link "$IF_RCV" type macvlan mode bridge; then
	address_to "$KIND_RCV" && all macvlan "$KIND_RCV" generic
	gone
fi

if made ipvlan link "$IF_RCV" type ipvlan mode l2; then
	address_to "$KIND_RCV" && all ipvlan "$KIND_RCV" generic
	gone
fi

if made vlan link "$IF_RCV" type vlan id 5; then
	in_ns snd ip addr flush dev "$IF_SND"
	in_ns snd ip link add "${IF_SND}v" link "$IF_SND" type vlan id 5
	in_ns snd ip addr add "$V4_SND/24" dev "${IF_SND}v"
	in_ns snd ip link set "${IF_SND}v" up
	address_to "$KIND_RCV" && all vlan "$KIND_RCV" generic
	gone
fi
finish
