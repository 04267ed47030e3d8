#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 400
#
# An end is an end: each call that ends a connection, of libibverbs, librdmacm and libfabric, with peers that go on
# writing, trickle, are silent, or are gone. Nothing of the program's memory changes behind the call, its buffers are
# back, and it waits for no peer. What was posted before arrives, also if the process leaves by _exit(). By both paths.
. "${0%/*}/../lib/lib.sh"

here=$BUILD/tests/net/stop
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0:detect_leaks=0

# server VAR PORT CALL HOW COUNT [FILE]
server() {
	local run=("$BUILD/xiwarp" run --report --path "$path" --if "$IF_RCV" -- "$here/verbs_stop")
	[[ $3 == fi_* ]] &&
		run=(env XIWARP_PATH="$path" FI_PROVIDER_PATH="$BUILD" "$here/fabric_stop")
	wait_until 30 _port_free rcv "$2"
	spawn "$1" rcv "server-$2" "${run[@]}" "$3" "$4" "$2" "${@:5}"
	wait_listen rcv "$2" 30 && return
	cat "$TMP/server-$2"
	return 1
}

# ended SERVER PEER PORT: the server has ended well. The peer may be left.
ended() {
	local rc
	reap "$1" 90
	rc=$?
	((rc == 124)) && stop "$1"
	stop "$2"
	cat "$TMP/server-$3" "$TMP/peer-$3"
	((rc == 0))
}

# one CALL HOW COUNT
one() {
	local server peer
	server server 7301 "$1" "$2" "$3" || return
	spawn peer snd peer-7301 "$here/stop_peer" "$2" $V4_RCV 7301 "$3"
	ended "$server" "$peer" 7301
}

# What the process had posted has come by each of 10 connections, 10 Sends of 1000 octets with their headers, and then
# an orderly end. One that becomes another program posts them twice.
leaves() {
	local server peer count=10 octets=10240
	case $1 in
	reject) count=1 ;;
	posted-exec) octets=20480 ;;
	esac
	server server 7301 "$1" polite $count || return
	spawn peer snd peer-7301 "$here/stop_peer" polite $V4_RCV 7301 $count
	reap "$server" 30 && reap "$peer" 30
	cat "$TMP/server-7301" "$TMP/peer-7301"
	if [[ $1 == reject ]]; then
		grep -q 'rejected: no, thanks' "$TMP/peer-7301"
	else
		awk -v all=$octets -v count=$count '$1 >= all && NF == 2 { n++ }
			END { exit n != count }' "$TMP/peer-7301"
	fi
}

# Sends that were posted, and a disconnect, before the Initiator has said that it is ready (RFC 6581).
early() {
	local server peer
	server server 7301 early eager 1 || return
	spawn peer snd peer-7301 "$here/stop_peer" eager $V4_RCV 7301 1
	reap "$server" 30 && reap "$peer" 30
	cat "$TMP/server-7301" "$TMP/peer-7301"
	awk '$1 >= 10240 && NF == 2 { n++ } END { exit n != 1 }' "$TMP/peer-7301"
}

# The connection is given up at once. What its peer says afterwards finds nothing.
early_end() { # CALL
	local server peer
	server server 7301 "$1" eager 1 || return
	spawn peer snd peer-7301 "$here/stop_peer" eager $V4_RCV 7301 1
	ended "$server" "$peer" 7301
}

# gone CALL COUNT: the host of all peers has vanished.
gone() {
	local server peer rc
	rm -f "$TMP/gone"
	server server 7301 "$1" silent "$2" "$TMP/gone" || return
	spawn peer snd peer-7301 "$here/stop_peer" silent $V4_RCV 7301 "$2"
	wait_until 30 _all_there "$2" || return
	in_ns snd ip link set "$IF_SND" down
	touch "$TMP/gone"
	ended "$server" "$peer" 7301
	rc=$?
	in_ns snd ip link set "$IF_SND" up
	return "$rc"
}

_all_there() {
	(($(in_ns rcv ss -Htn state established 'sport = :7301' | wc -l) == $1))
}

# Whatever the peer does, the connection's own end comes: each pair of call and peer at once.
all_end() {
	local call how n=0 servers=() peers=() rc=0
	for call in wait-error wait-disconnect; do
		for how in writes trickles silent; do
			local port=$((7310 + n))
			server "servers[$n]" $port $call $how 1 || return
			spawn "peers[$n]" snd "peer-$port" "$here/stop_peer" $how $V4_RCV $port 1
			((n++))
		done
	done
	while ((n--)); do
		ended "${servers[n]}" "${peers[n]}" $((7310 + n)) || rc=1
	done
	return $rc
}

calls=(error disconnect destroy-qp destroy-id fi_shutdown fi_close)

wire_up plain 1500 1 || exit 1
in_ns rcv "$BUILD/xiwarp" load "$IF_RCV" >/dev/null || exit 1
for path in kernel direct; do
	for call in "${calls[@]}"; do
		for how in writes trickles silent; do
			[[ -z ${CASE:-} || $path-$call-$how == "$CASE" ]] || continue
			expect "$path-$call-$how" one "$call" "$how" 3
		done
	done
	[[ -z ${CASE:-} ]] || continue
	for call in exit disconnect-_exit reject posted-{_exit,quick,signal,exec,child}; do
		expect "$path-$call" leaves $call
	done
	expect "$path-early" early
	for call in error destroy-qp destroy-id; do
		expect "$path-early-$call" early_end early-$call
	done
	expect "$path-gone" gone destroy-qp 200
	expect "$path-gone-libfabric" gone fi_close 200
done
path=kernel
[[ -n ${CASE:-} && $CASE != all-end ]] || expect all-end all_end
finish
