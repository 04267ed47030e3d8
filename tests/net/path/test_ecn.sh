#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 60
#
# ECN as DCTCP uses it, which the direct path does not support: a socket whose congestion control needs an echo of each
# packet (RFC 8257 section 3.2) stays on the kernel path with its bits unchanged. Other sockets with ECN go direct.
. "${0%/*}/../lib/lib.sh"

# stream CC: one connection to a receiver with that congestion control.
stream() {
	local receiver sender
	set_sysctl rcv net.ipv4.tcp_congestion_control "$1" || return
	spawn receiver rcv err sh -c "exec '$BUILD/xiwarp' sink --json --once --listen :15048 \
		--stag 0x1234 >'$TMP/json'"
	wait_listen rcv 15048 || return
	spawn sender snd sender "$BUILD/tests/net/lib/sendto" -t $((8 << 20)) "$V4_RCV" 15048
	reap "$sender" 20 && reap "$receiver" 10
}

direct() {
	(($(field octets_direct) > 4 << 20)) && [[ -z $(field no_direct) ]]
}

kept_off() {
	(($(field octets_direct) == 0)) && [[ $(field no_direct) == *DCTCP* ]]
}

wire_up plain
wire_clamp 262144
for side in snd rcv; do
	set_sysctl $side net.ipv4.tcp_ecn 1
done
load_patient rcv || fail load "exit code $?"
expect reno-stream stream reno
expect reno-goes-direct direct
# Removes what a killed run left.
bpftool struct_ops unregister name dctcp >/dev/null 2>&1
spawn cc rcv cc "$BUILD/tests/net/path/ecn" "$BUILD/tests/net/path/ecn.bpf.o"
if wait_until 5 grep -q ready "$TMP/cc"; then
	expect dctcp-stream stream xiw_dctcp
	expect dctcp-keeps-to-the-kernel kept_off
	set_sysctl snd net.ipv4.tcp_ecn 0
	expect dctcp-without-ecn-stream stream xiw_dctcp
	expect dctcp-without-ecn-goes-direct direct
	set_sysctl rcv net.ipv4.tcp_congestion_control reno
else
	skip dctcp "no congestion control in BPF here: $(head -n 3 "$TMP/cc")"
fi
stop "$cc"
in_ns rcv "$BUILD/xiwarp" unload "$IF_RCV" --force >/dev/null || fail unload "exit code $?"
finish
