#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 120
#
# An interface with more receive queues than send queues: AF_XDP sends nothing on a queue that has no send queue, so
# ACKs leave by another one of the engine. Connections are direct and heard from the start, or told why they are not.
. "${0%/*}/../lib/lib.sh"

wire_up plain 1500 4
in_ns rcv ethtool -L "$IF_RCV" rx 4 tx 1 || { skip senders "veth's queues are fixed here"; finish; }
load_patient rcv --mode generic || fail load "exit code $?"
random_file "$TMP/file" 4
puts() { # NAME OPTION...: twelve transfers to a server with these options; its reports are in $TMP/json
	local name=$1 server i
	spawn server rcv json "$BUILD/xiwarp" serve --json --force --create "${@:2}" "$TMP/in"
	wait_listen rcv 15044
	for ((i = 1; i <= 12; i++)); do
		in_ns snd "$BUILD/xiwarp" put "$TMP/file" "$V4_RCV" >/dev/null ||
			fail "$name-put-$i" "exit code $?"
	done
	stop "$server" INT
	cat "$TMP/json"
	expect "$name-all-came" [ "$(grep -c '"digest_equal":true' "$TMP/json")" = 12 ]
	expect "$name-heard" [ "$(grep -c 'not heard\|does not hear' "$TMP/json")" = 0 ]
}

puts one --threads 1
expect one-direct [ "$(grep -c '^{"file".*"octets_direct":[1-9]' "$TMP/json")" = 12 ]
# An engine of a group that has no queue with a send queue leaves its own to the kernel, and says why.
puts several
expect several-direct-or-told [ "$(grep '^{"file"' "$TMP/json" |
	grep -c '"octets_direct":[1-9]\|no send queue [1-3] for ACKs')" = 12 ]
finish
