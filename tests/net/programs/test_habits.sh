#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 200
#
# What programs and those who run them do because it works with RNICs: it works, or one line says what does.
. "${0%/*}/../lib/lib.sh"
. "${0%/*}/programs.sh"

wire_up plain 1500 1 || exit 1
least=0

# once LOG WORDS: one line of the log has them.
once() {
	[[ $(grep -cF -- "$2" "$TMP/$1") == 1 ]] && return
	cat "$TMP/$1"
	return 1
}

# ---- a program that moves its queue pair itself, by the attributes of librdmacm
both rping-own-queues "rping -s -q -a 0.0.0.0 -p 7174 -V -C 5" 7174 \
	"rping -c -q -a $V4_RCV -p 7174 -V -C 5"

# ---- one that connects by the numbers of queue pairs
by_number() {
	local server client
	spawn server rcv server "${rcv[@]}" ib_write_bw -F -n 10
	wait_listen rcv 18515 || return
	spawn client snd client "${snd[@]}" ib_write_bw -F -n 10 "$V4_RCV"
	reap "$client" 20 && return 1
	reap "$server" 20 && return 1
	once client "let it connect with rdma_cm (perftest: -R)" &&
		once server "let it connect with rdma_cm (perftest: -R)"
}
expect by-number by_number

# ---- one that needs --extended
extended() {
	local ends=$BUILD/tests/net/programs/verbs_ends passive active
	spawn passive rcv passive "${rcv[@]}" "$ends" passive posts-extended "$V4_RCV" 7301
	wait_listen rcv 7302 || return
	spawn active snd active "$@" "${snd[@]}" "$ends" active posts-extended "$V4_RCV" 7301
	reap "$active" 30 && reap "$passive" 30 || { cat "$TMP/active" "$TMP/passive"; return 1; }
	once active "need xiwarp run --extended at both ends"
}
expect extended-forgotten extended
expect extended-by-one extended env XIWARP_EXTENDED=1
expect extended-by-one-says once active "at both ends, and the peer is without"

# ---- a host with more interfaces than most: the last of them is a device as well
many() {
	local i
	for ((i = 1; i <= 70; i += 2)); do
		echo "link add many$i type veth peer name many$((i + 1))"
		echo "address add 192.0.3.$i/32 dev many$i"
		echo "address add 192.0.3.$((i + 1))/32 dev many$((i + 1))"
		echo "link set many$i up"
		echo "link set many$((i + 1)) up"
	done >"$TMP/many"
	in_ns rcv ip -batch "$TMP/many" && in_ns snd ip route add 192.0.3.0/24 via "$V4_RCV"
}
rcv=("${foreign[@]}" "$xiwarp" run --report --path kernel --)
expect many-interfaces many
devices=$(in_ns rcv "${rcv[@]}" ibv_devices 2>/dev/null | grep -c xiw_)
expect many-devices [ "$devices" -gt 70 ]
both many-wildcard "rping -s -a 0.0.0.0 -p 7174 -V -C 5" 7174 \
	"rping -c -a 192.0.3.70 -p 7174 -V -C 5"
both many-bound "rping -s -a 192.0.3.70 -p 7174 -V -C 5" 7174 \
	"rping -c -a 192.0.3.70 -p 7174 -V -C 5"
# An interface that is none is told of.
elsewhere() {
	local server client
	spawn server rcv server "${foreign[@]}" "$xiwarp" run --path kernel --if many1 -- \
		rping -s -a 0.0.0.0 -p 7174
	wait_listen rcv 7174 || return
	spawn client snd client "${snd[@]}" rping -c -a "$V4_RCV" -p 7174 -C 1
	reap "$client" 20
	stop "$server"
	once server "a connection to $V4_RCV is refused: that is the address of no device"
}
expect no-device-said elsewhere

finish
