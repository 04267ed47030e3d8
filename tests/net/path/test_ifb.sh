#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 120
#
# Traffic that an ifb shapes: what the socket sends comes to xiw_egress twice, which translates it once. Connections go
# direct and end in order, whether the ifb was there before or comes while they are direct.

. "${0%/*}/../lib/lib.sh"
. "${0%/*}/../lib/counts.sh"
. "${0%/*}/../lib/pings.sh"

wire_up plain 1500 || exit 1
if ! in_ns rcv ip link add ifb7 type ifb 2>/dev/null; then
	skip ifb "the kernel has no ifb"
	finish
	exit
fi
in_ns rcv ip link set ifb7 up

# All packets of PARENT go round by the ifb.
by_ifb() { # PARENT
	in_ns rcv tc filter add dev "$IF_RCV" ${1:+"$@"} protocol all prio 5 u32 match u32 0 0 \
		action mirred egress redirect dev ifb7
}
shaped() { # HOW
	case $1 in
	egress) in_ns rcv tc qdisc add dev "$IF_RCV" clsact && by_ifb egress ;;
	ingress) in_ns rcv tc qdisc add dev "$IF_RCV" clsact && by_ifb ingress ;;
	htb) in_ns rcv tc qdisc add dev "$IF_RCV" root handle 1: htb && by_ifb parent 1: ;;
	esac
}
unshaped() { # HOW
	in_ns rcv tc qdisc del dev "$IF_RCV" "${1/*gress/clsact}" 2>/dev/null ||
		in_ns rcv tc qdisc del dev "$IF_RCV" root
}
rounds() { in_ns rcv awk '$1 == "ifb7:" { print $11 }' /proc/net/dev; }
went_round() { (($(rounds) > $1)); }

if ! shaped egress; then
	skip ifb "the kernel has no act_mirred, or no u32"
	finish
	exit
fi
unshaped egress
expect load in_ns rcv "$BUILD/xiwarp" load "$IF_RCV"
for how in egress ingress htb; do
	before=$(rounds)
	expect "$how-on" shaped $how
	pings "$how-before" "0 0" 1500000 true
	expect "$how-round" went_round "$before"
	expect "$how-off" unshaped $how
	pings "$how-meanwhile" "0 0" 1500000 shaped $how
	expect "$how-meanwhile-off" unshaped $how
	pings "$how-gone" "0 0" 1500000 true
done
finish
