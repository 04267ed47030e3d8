#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 900
#
# Interfaces of every kind that can be had here, natively and in generic mode, x GRO and the peer's checksum offload on
# and off x a gateway that answers from another address x numbers of queues x firewalls. Of 1 + 3 short connections the
# first may lose one retransmission time-out to whatever that does to packets, and the others none; one that does not go
# direct says why.
#
# Each pair of values of two factors is tried at least once. ALL=1 tries the whole product (`make kinds`); CASE=WORD
# only the names with this word, as in tap-generic-gro-on-csum-off-gateway-on-rx1-tx1-reverse-path.

. "${0%/*}/../lib/lib.sh"
. "${0%/*}/../lib/counts.sh"
# shellcheck source=tests/net/lib/firewalls.sh
. "${0%/*}/../lib/firewalls.sh"

OCTETS=300000 NEXT=3
KIND_RCV=xw${_id}k # the interface that is made upon IF_RCV, or a tap
KIND_SND=xw${_id}v # the same at the peer
PEER_IF=$IF_SND	   # whose offloads change
ALL=${ALL:-} TAP=
QUEUES=(1:1 4:4 4:1 2:3) # rx:tx of the receiver's interface
progs=$_bpffs/xiw-wire-$$ # lib.sh removes it

send_one() {
	local rc
	spawn SEND snd sent "$BUILD/tests/net/lib/sendto" -t $OCTETS -o "$TMP/octets" "$V4_RCV" \
		15050
	reap "$SEND" 20
	rc=$?
	((rc == 124)) && stop "$SEND"
	((rc == 0)) || echo "exit code $rc: $(cat "$TMP/sent")"
	return "$rc"
}

# Sets first and next to the time-outs of the first connection, and of those after it.
connections() {
	local before after i
	before=$(timeouts)
	send_one || return
	after=$(timeouts)
	first=$((after - before))
	for ((i = 0; i < NEXT; i++)); do
		send_one || return
	done
	next=$(($(timeouts) - after))
}

# Did each connection go direct, or say why not? What may say so: GRO has joined packets below the interface; a queue is
# another engine's, or an engine has none to send on; the engine stood still, and that is remembered.
explained() { # GRO QUEUES
	local why="found before|another engine serves|watchdog"
	[[ $1 == off ]] || why+="|longer than its MTU"
	((${2%:*} <= ${2#*:})) || why+="|no send queue|no engine serves"
	! grep '"peer"' "$TMP/json" | grep -v '"octets_direct":[1-9]' | grep -vqE "$why"
}

try() { # NAME IF MODE GRO QUEUES
	local name=$1 first next why=''
	if ! in_ns rcv "$BUILD/xiwarp" load "$2" --mode "$3" >"$TMP/load" 2>&1; then
		fail "$name" "$(tail -n 1 "$TMP/load")"
		return
	fi
	spawn SINK rcv json "$BUILD/xiwarp" sink --stag 0x1234 --size $OCTETS --json \
		--out "$TMP/got" --listen "$V4_RCV:15050"
	if ! wait_listen rcv 15050; then
		why="nobody listens"
	elif ! connections >"$TMP/why"; then
		why=$(cat "$TMP/why")
	fi
	stop "$SINK" INT >/dev/null
	if [[ ! $why ]]; then
		if ((first > 1 || next)); then
			why="$first time-outs, then $next"
		elif ! cmp -s "$TMP/got" "$TMP/octets"; then
			why="octets differ"
		elif ! explained "$4" "$5"; then
			why="not direct"
		fi
	fi
	in_ns rcv "$BUILD/xiwarp" unload "$2" >/dev/null || why+=" unload: exit code $?"
	[[ ! $why ]] && pass "$name" && return
	fail "$name" "$why: $(cat "$TMP/json")"
}

offloads() { # GRO TX
	in_ns rcv ethtool -K "$BASE_RCV" gro "$1" >/dev/null
	in_ns snd ethtool -K "$PEER_IF" tx "$2" >/dev/null
	[[ $2 == on ]] || in_ns snd ethtool -K "$PEER_IF" tso off gso off >/dev/null
}

# Frames must go to another address than the one that the peer sends from.
gateway() { # on|off IF
	in_ns snd tc filter del dev "$PEER_IF" ingress 2>/dev/null
	in_ns rcv ip neigh del "$V4_SND" dev "$2" 2>/dev/null
	[[ $1 == off ]] && return
	in_ns snd tc filter add dev "$PEER_IF" ingress bpf da pinned "$progs/gateway_1" &&
		in_ns rcv ip neigh replace "$V4_SND" lladdr 00:00:5e:00:01:01 dev "$2" nud permanent
}

queues() { # RX:TX
	[[ $TAP ]] && return
	in_ns snd ethtool -L "$IF_SND" rx "${1#*:}" tx "${1%:*}" 2>/dev/null
	in_ns rcv ethtool -L "$IF_RCV" rx "${1%:*}" tx "${1#*:}" 2>/dev/null
	return 0
}

one() { # KIND MODE IF GRO TX GATEWAY QUEUES RULES
	local name=$1-$2-gro-$4-csum-$5-gateway-$6-rx${7/:/-tx}-$8
	[[ $name == *"${CASE:-}"* ]] || return
	offloads "$4" "$5"
	queues "$7"
	gateway "$6" "$3" || { fail "$name" "gateway"; return; }
	if [[ $nft ]]; then
		in_ns rcv nft flush ruleset
		[[ $8 == none ]] || firewall "$8" 15050 | in_ns rcv nft -f - ||
			{ fail "$name" "nft refuses the rules"; return; }
	fi
	try "$name" "$3" "$2" "$4" "$7"
	gateway off "$3"
}

words=(off on)
# The k-th kind with the r-th rules: a value of each other factor, so that each pair of values comes up.
pairs() { # K KIND MODE IF
	local k=$1 r gro tx gate
	for ((r = 0; r < ${#rules[@]}; r++)); do
		gro=${words[(3 * k + r >> 2) & 1]} tx=${words[(5 * k + 3 * r >> 2) & 1]}
		gate=${words[(7 * k + 7 * r >> 2) & 1]}
		one "${@:2}" "$gro" "$tx" "$gate" "${QUEUES[(k + r) % 4]}" "${rules[r]}"
	done
}

product() { # KIND MODE IF
	local gro tx gate q r many=("${QUEUES[@]}")
	[[ $TAP ]] && many=(1:1)
	for gro in off on; do for tx in off on; do for gate in off on; do
		for q in "${many[@]}"; do for r in "${rules[@]}"; do
			one "$@" "$gro" "$tx" "$gate" "$q" "$r"
		done; done
	done; done; done
}

kinds=0
all() { # KIND IF MODE...
	local mode
	for mode in "${@:3}"; do
		if [[ $ALL ]]; then
			product "$1" "$mode" "$2"
		else
			pairs $kinds "$1" "$mode" "$2"
		fi
		((++kinds))
	done
}

# The peer is to ask for the address anew, which another interface has had.
address_to() { # IF
	in_ns rcv ip addr flush dev "$IF_RCV" && in_ns rcv ip addr add "$V4_RCV/24" dev "$1" &&
		in_ns rcv ip link set "$1" up && in_ns snd ip neigh flush all
}

made() { # KIND ...: an interface upon IF_RCV
	in_ns rcv ip link add "$KIND_RCV" "${@:2}" 2>"$TMP/made" && return
	skip "$1" "$(cat "$TMP/made")"
	((++kinds))
	return 1
}

gone() {
	in_ns rcv ip link del "$KIND_RCV"
}
at_end rm -rf "$_bpffs/xiwarp/$KIND_RCV"

# Its queues are 1 and 1.
tap() {
	spawn WIRE host wire "$BUILD/tests/net/lib/tap_wire" "/run/netns/$(_ns snd)" "$KIND_SND" \
		"/run/netns/$(_ns rcv)" "$KIND_RCV"
	if ! wait_until 10 grep -qs ready "$TMP/wire"; then
		skip tap "$(cat "$TMP/wire")"
		return
	fi
	TAP=yes PEER_IF=$KIND_SND BASE_RCV=$KIND_RCV
	in_ns snd ip addr flush dev "$IF_SND" &&
		in_ns snd ip addr add "$V4_SND/24" dev "$KIND_SND" &&
		in_ns snd ip link set "$KIND_SND" up &&
		in_ns snd tc qdisc add dev "$KIND_SND" clsact &&
		address_to "$KIND_RCV" && all tap "$KIND_RCV" native generic
	TAP='' PEER_IF=$IF_SND BASE_RCV=$IF_RCV
	stop "$WIRE"
	in_ns snd ip addr add "$V4_SND/24" dev "$IF_SND"
}

wire_up plain 1500 4 || exit 1
wire_clamp 131072
set_sysctl snd net.ipv4.tcp_no_metrics_save 1
# The peer asks who has the address; only the interface that has it is to answer.
set_sysctl rcv net.ipv4.conf.all.arp_ignore 1
BASE_RCV=$IF_RCV # whose GRO changes
bpftool prog loadall "$BUILD/tests/net/path/progress.bpf.o" "$progs" || exit 1
in_ns snd tc qdisc add dev "$IF_SND" clsact || exit 1
nft='' rules=(none)
if command -v nft >/dev/null && in_ns rcv nft list ruleset >/dev/null 2>&1; then
	nft=yes rules+=("${firewalls[@]}")
else
	skip firewalls "nft is not installed (tools/setup), or the kernel has no nf_tables"
fi

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
	in_ns snd ip link add "$KIND_SND" link "$IF_SND" type vlan id 5
	in_ns snd ip addr add "$V4_SND/24" dev "$KIND_SND"
	in_ns snd ip link set "$KIND_SND" up
	address_to "$KIND_RCV" && all vlan "$KIND_RCV" generic
	gone
	in_ns snd ip link del "$KIND_SND"
fi

tap
finish
