#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 300
#
# Many connections to a program that has 1024 descriptors, as programs have by default: as many at once as its backlog
# names, and more in all than it could have descriptors. What cannot be is told in one line.
. "${0%/*}/../lib/lib.sh"
. "${0%/*}/../lib/second.sh"

crowd=$BUILD/tests/net/programs/verbs_crowd
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0
fifo=$TMP/steps/fifo # not where the logs are
mkdir "$TMP/steps" && mkfifo "$fifo" || exit 1

_silent() {
	_port_free rcv 7311
}

# crowd LIMITS CONNECTIONS BACKLOG AT_ONCE: the server has the limits, "soft" or "soft:hard" as prlimit writes them.
# The client has as many descriptors as it needs.
crowd() {
	local server client rc
	wait_until 10 _silent || return
	spawn server rcv server prlimit "--nofile=$1" "$BUILD/xiwarp" run --path kernel \
		--if "$IF_RCV" -- "$crowd" server "$V4_RCV" 7311 "$2" "$3" "$fifo"
	wait_listen rcv 7311 || { stop "$server"; cat "$TMP/server"; return 1; }
	spawn client snd client prlimit --nofile=8192:8192 "$BUILD/xiwarp" run --path kernel \
		--if "$IF_SND" -- "$crowd" client "$V4_RCV" 7311 "$2" "$4" "$fifo"
	reap "$client" 100
	rc=$?
	((rc == 124)) && stop "$client"
	reap "$server" 60 || rc=$?
	cat "$TMP/server" "$TMP/client"
	return "$rc"
}

# The line is there once.
said() {
	[[ $(grep -c "$1" "$TMP/server") == 1 ]]
}

wire_up plain 1500 1 || exit 1
expect at-once crowd 1024: 300 300 300
expect at-once-hard-limit crowd 1024:1024 300 300 300
XIWARP_ENGINES=2 expect at-once-two-engines crowd 1024:1024 300 300 300
expect no-backlog crowd 1024: 300 0 300
expect one-after-another crowd 1024: 1500 8 8
# There cannot be as many as these.
crowd 200:200 300 8 8 >/dev/null
expect few-descriptors-said \
	said "no descriptor is left for a connection: the limit is 200 (ulimit -Hn"
crowd 200:200 300 300 300 >/dev/null
expect many-waiting-said said "connections are refused: too many wait for the program's answer"

# libfabric's: a listener of the wildcard address, that clients reach by two interfaces.
second_wire_up

# fabric_crowd CONNECTIONS: as many at once, half of them by each interface.
fabric_crowd() {
	local program=$BUILD/tests/net/programs/fabric_crowd server clients=() host n=0 rc=0
	# The leak checker dies itself at the end of this program.
	local run=(env XIWARP_PATH=kernel FI_PROVIDER_PATH="$BUILD"
		"ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0" "$program")
	wait_until 10 _silent || return
	spawn server rcv server prlimit --nofile=1024: "${run[@]}" server - 7311 "$1" "$1" 2 \
		"$fifo"
	wait_listen rcv 7311 || { stop "$server"; cat "$TMP/server"; return 1; }
	for host in "$V4_RCV" 10.78.0.2; do
		spawn "clients[$n]" snd "client$n" prlimit --nofile=8192:8192 "${run[@]}" client \
			"$host" 7311 $(($1 / 2)) "$fifo"
		((++n))
	done
	for n in 0 1; do
		reap "${clients[n]}" 100 || { rc=$?; stop "${clients[n]}"; }
	done
	reap "$server" 60 || { rc=$?; stop "$server"; }
	cat "$TMP/server" "$TMP/client0" "$TMP/client1"
	return "$rc"
}
expect at-once-libfabric fabric_crowd 300

# A server that is started again at once, after SIGKILL. Whoever writes to the FIFO waits until the server listens.
again() {
	local server i listens
	for ((i = 0; i < 12; i++)); do
		spawn server rcv server "$BUILD/xiwarp" run --path kernel --if "$IF_RCV" -- \
			"$crowd" server "$V4_RCV" 7311 1 1 "$fifo"
		timeout 20 bash -c ': >"$1"' sh "$fifo"
		listens=$?
		kill -KILL "$server" 2>/dev/null
		reap "$server" 10
		((listens == 0)) || { cat "$TMP/server"; return 1; }
	done
	return 0
}
expect started-again again
finish
