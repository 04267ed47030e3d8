#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 60
#
# What ends without `xiwarp unload`: a container with its network namespace, a driver that is unbound. The next load of
# any interface removes pins and maps, and no others.

. "${0%/*}/../lib/lib.sh"

if ! kernel_has 6 6; then
	skip dead "needs Linux 6.6"
	finish
	exit
fi
base=$_bpffs/xiwarp
xiwarp=$BUILD/xiwarp

load() { in_ns "$1" "$xiwarp" load "$2" >/dev/null; }
unload() { in_ns rcv "$xiwarp" unload "$1" >/dev/null; }
dirs() { compgen -G "$base/$1" | wc -l; }
ids() { bpftool -j prog show pinned "$base/$1/xiw_ingress" | sed 's/.*"id":\([0-9]*\).*/\1/'; }

wire_up plain 1500 || exit 1
expect load load rcv "$IF_RCV"

# Two containers, which have an interface of the same name, and a third one that lives on.
container() {
	ip netns add "$(_ns "$1")" &&
		in_ns "$1" ip link add "$IF_RCV" type veth peer name other &&
		in_ns "$1" ip link set "$IF_RCV" up && load "$1" "$IF_RCV"
}
for c in c1 c2 c3; do
	at_end ip netns del "$(_ns $c)" # of c3, or of all if this ends early
	expect "container-$c" container $c
done
expect containers-pins test "$(dirs "$IF_RCV*")" = 4
ip netns del "$(_ns c1)"
ip netns del "$(_ns c2)"
in_ns rcv ip link add xd$$ type veth peer name xe$$
gone() { load rcv xd$$ && [[ $(dirs "$IF_RCV@*") == 1 ]] || { unload xd$$; false; }; }
expect containers-gone wait_until 20 gone
expect living-stays in_ns c3 "$xiwarp" status "$IF_RCV"
expect own-stays in_ns rcv "$xiwarp" status "$IF_RCV"

# The interface is made anew under its name.
id=$(ids xd$$)
in_ns rcv ip link del xd$$
in_ns rcv ip link add xd$$ type veth peer name xe$$
expect made-anew load rcv xd$$
expect made-anew-programs test "$(ids xd$$)" != "$id"
expect made-anew-status in_ns rcv "$xiwarp" status xd$$

# Somebody has detached xiw_egress alone: that interface lives, and is left to unload.
egress_off rcv xd$$
refused detached 5 "xiw_egress was detached" "$xiwarp" load xd$$
refused detached-stays 5 "loaded on $IF_RCV already" "$xiwarp" load "$IF_RCV"
expect detached-pins test -e "$base/xd$$/xiw_ingress"
expect detached-unload unload xd$$
expect end-unload unload "$IF_RCV"
in_ns c3 "$xiwarp" unload "$IF_RCV" >/dev/null || fail c3-unload "exit code $?"
expect end-nothing test "$(dirs "$IF_RCV*")" = 0
finish
