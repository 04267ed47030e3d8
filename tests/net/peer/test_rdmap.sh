#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# RDMAP (RFC 5040): a peer written from the RFCs alone (rdmap.c) against an application on the library (rdmap_end.c),
# with each message and each error with its Terminate, on both paths; and `xiwarp rping` against itself: 64 KiB pings,
# with
# every octet compared at both ends. timeout: 120
. "${0%/*}/../lib/lib.sh"

xiwarp=$BUILD/xiwarp

# is FILE KEY VALUE...
is() {
	local file=$1
	shift
	while (($#)); do
		if [[ $(field "$1" "$TMP/$file") != "$2" ]]; then
			echo "$file: $1 is '$(field "$1" "$TMP/$file")', not '$2'"
			return 1
		fi
		shift 2
	done
}

listens() {
	wait_listen rcv 7174 && return
	echo "nobody listens: $(cat "$TMP/server")"
	return 1
}

# rping ADDRESS "SERVER OPTIONS" "CLIENT OPTIONS": runs both; their reports are in server and client.
rping() {
	local server client rc=0 src=0
	# shellcheck disable=SC2086
	spawn server rcv server "$xiwarp" rping -s -a "$1" -V --json $2
	listens || return
	# shellcheck disable=SC2086
	spawn client snd client "$xiwarp" rping -c -a "$1" -V --json $3
	reap "$client" 60 || rc=$?
	((rc == 124)) && stop "$client"
	reap "$server" 20 || src=$?
	((src == 124)) && stop "$server"
	((rc || src)) && cat "$TMP/client" "$TMP/server"
	echo "client $rc, server $src"
	((rc == 0 && src == 0))
}

# XDP gives a stream to the kernel if the machine lets the engine stand still. The reports say so.
stood_still() {
	grep -hE '"left_direct":\{[^}]*"(watchdog|frames lost before AF_XDP)":' \
		"$TMP/client" "$TMP/server"
}

# full PATH ADDRESS CRC COUNT OPTION...: 64 KiB each way, COUNT times, all by that path, at both ends. A run in which
# an engine stood still is repeated, at most twice.
full() {
	local path=$1 address=$2 crc=$3 count=$4 end other=kernel
	shift 4
	[[ $path == kernel ]] && other=direct
	for _ in 1 2 3; do
		rping "$address" "--path $path --crc $crc" \
			"--path $path --crc $crc -S 65536 -C $count $*" || return
		stood_still || break
	done
	for end in client server; do
		is $end iterations "$count" octets $((count * 131072)) mismatches 0 \
			"octets_$other" 0 terminate_sent null terminate_received null socket_error \
			"" error "" crc_errors 0 mpa_error 0 ddp_error false || return
	done
	is client crc "$([[ $crc == on ]] && echo true || echo false)" reads_in "$count" writes_in \
		"$count" sends_in $((2 * count)) && is server reads_out "$count" writes_out "$count"
}

options() {
	full kernel $V4_RCV on 20 --rev 1 && is server revision 1 enhanced false &&
		full direct $V4_RCV on 20 &&
		is server revision 2 enhanced true ird 1 ord 1 peer_to_peer true &&
		rping $V4_RCV "--rev 1" "-C 20" && is server revision 1 iterations 20 &&
		is client revision 1 &&
		full direct $V4_RCV on 20 --markers && is client markers_in true &&
		is server markers_out true
}

rtr() {
	local kind
	for kind in send write read; do
		full direct $V4_RCV on 20 --rtr $kind && is server peer_to_peer true || return
	done
	full direct $V4_RCV on 20 --rtr none && is server enhanced true peer_to_peer false &&
		rping $V4_RCV "--rev 1" "-C 20 --rtr none" && is server revision 1 iterations 20
}

# What the client pings with and the server shows is what rdma-core's rping would.
verbose() {
	local server
	spawn server rcv server "$xiwarp" rping -s -v
	listens || return
	in_ns snd timeout 20 "$xiwarp" rping -c -a $V4_RCV -C 2 -S 32 -v >"$TMP/client"
	reap "$server" 20 || return
	cat "$TMP/client" "$TMP/server"
	grep -qx 'server ping data: rdma-ping-0: ABCDEFGHIJKLMNOPQR' "$TMP/server" &&
		grep -qx 'server ping data: rdma-ping-1: BCDEFGHIJKLMNOPQRS' "$TMP/server" &&
		grep -qx 'ping data: rdma-ping-1: BCDEFGHIJKLMNOPQRS' "$TMP/client"
}

# The server refuses a ping that is too large with a Terminate, and each end says so.
too_large() {
	local server client
	spawn server rcv server "$xiwarp" rping -s --json -S 1000
	listens || return
	spawn client snd client "$xiwarp" rping -c -a $V4_RCV -C 2 -S 1001 --json
	reap "$client" 20
	(($? == 7)) || return
	reap "$server" 20
	(($? == 7)) || return
	cat "$TMP/client" "$TMP/server"
	grep -q '"terminate_received":{"layer":0,"type":0,.*"error":"the peer terminated' \
		"$TMP/client" &&
		grep -q '"terminate_sent":{"layer":0,.*--size allows 1000' "$TMP/server"
}

# Enough descriptors for the engine and the listener, but for no connection.
no_descriptor() {
	local server client told
	spawn server rcv server prlimit --nofile=6 "$xiwarp" rping -s --path kernel
	listens || return
	spawn client snd client "$xiwarp" rping -c -a $V4_RCV -C 1
	wait_until 10 grep -q 'could not be taken: Too many open files: raise' "$TMP/server"
	told=$?
	stop "$client"
	stop "$server"
	cat "$TMP/server"
	return "$told"
}

# A server that closed first leaves its connection in TIME-WAIT: another one can listen there at once.
closed_first() {
	too_large >"$TMP/first" 2>&1 || { cat "$TMP/first"; return 1; }
	in_ns rcv ss -Htan state time-wait "sport = :7174" | grep -q .
}
again() {
	local server
	# The client also closes when it has the Terminate, and may be first on a slow machine.
	wait_until 20 closed_first || { cat "$TMP/first"; return 1; }
	spawn server rcv server "$xiwarp" rping -s
	listens || return
	stop "$server"
	(($? == 143))
}

# Clients at once, and until it is stopped.
persistent() {
	local server pids=() pid i rc=0 src=0
	spawn server rcv server "$xiwarp" rping -s -P -V --json
	listens || return
	for i in 1 2 3 4; do
		spawn pid snd "client-$i" "$xiwarp" rping -c -a $V4_RCV -C 50 -S 9999 -V --json
		pids+=("$pid")
	done
	for pid in "${pids[@]}"; do
		reap "$pid" 30 || rc=$?
	done
	stop "$server" INT || src=$?
	cat "$TMP"/client-? "$TMP/server"
	echo "clients $rc, server $src"
	((rc == 0 && src == 130)) &&
		[[ $(grep -c '"iterations":50,.*"error":""' "$TMP/server") == 4 ]]
}

usage() {
	local args
	for args in "" "-s -c" "-c" "-s -S 3" "-c -a x --rtr read --rev 1" "-s --rtr read" \
		"-c -a" "-z"; do
		# shellcheck disable=SC2086
		in_ns snd "$xiwarp" rping $args >"$TMP/usage" 2>&1
		[[ $? == 2 && $(wc -l <"$TMP/usage") == 1 ]] ||
			{ echo "[$args]"; cat "$TMP/usage"; return 1; }
	done
}

wire_up plain
administrator "crc optional"
# With small buffers, an answer that is not read soon waits in the library instead of in sockets.
set_sysctl rcv net.ipv4.tcp_wmem "4096 16384 65536"
# A bad CRC becomes an error after some retransmissions: a short RTO makes that soon.
in_ns snd ip route replace 10.77.0.0/24 dev "$IF_SND" src "$V4_SND" rto_min 5ms ||
	fail rto_min "exit code $?"
for path in kernel direct; do
	[[ $path == kernel ]] || load_patient rcv || fail load "exit code $?"
	cases rdmap rdmap_end $path
done
if [[ -z ${CASE:-} ]]; then
	set_sysctl rcv net.ipv4.tcp_wmem "4096 16384 262144"
	wire_clamp 262144
	load_patient snd || fail load-snd "exit code $?"
	for path in kernel direct; do
		expect "rping-$path-v4" full $path $V4_RCV on 1000
		expect "rping-$path-v6" full $path $V6_RCV on 1000
		expect "rping-$path-v4-no-crc" full $path $V4_RCV off 1000
	done
	expect rping-options options
	expect rping-rtr rtr
	expect rping-verbose verbose
	expect rping-too-large too_large
	expect rping-again again
	expect rping-no-descriptor no_descriptor
	expect rping-persistent persistent
	expect rping-usage usage
	in_ns snd "$xiwarp" unload "$IF_SND" >/dev/null || fail unload-snd "exit code $?"
fi
in_ns rcv "$xiwarp" unload "$IF_RCV" >/dev/null || fail unload "exit code $?"
finish
