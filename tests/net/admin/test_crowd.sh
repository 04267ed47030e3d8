#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# One peer with many connections, to the commands that serve everybody: it does not fill their logs. timeout: 120
. "${0%/*}/../lib/lib.sh"

xiwarp=$BUILD/xiwarp crowd=(python3 "$ROOT/tests/net/admin/crowd.py")
bad=150

# open COMMAND OPTION...: standard output to $TMP/out, standard error to $TMP/server.
open() {
	spawn server rcv server sh -c "exec '$xiwarp' $* --path kernel >'$TMP/out'"
	wait_listen rcv 15044 || fail "open $1" "nobody listens: $(cat "$TMP/server")"
}

crowd() {
	in_ns snd "${crowd[@]}" "$@"
}

# shown FILE PATTERN: what FILE shows of connections, and what is only counted, is all of them.
shown() {
	local left
	left=$(awk '/^xiwarp: [0-9]* more failed or refused / { n += $2 } END { print n + 0 }' \
		"$TMP/server")
	echo "shown $(grep -Ec "$2" "$1"), left out $left: $(head -n 50 "$TMP/server")"
	# A slow machine may take more than one span of 12 seconds, each with 20 and a line about the others.
	(($(grep -Ec "$2" "$1") <= 100 && left && $(grep -Ec "$2" "$1") + left == 2 * bad))
}

wire_up plain 1500
mkdir "$TMP/in"

open serve "$TMP/in"
expect bad-to-serve crowd bad $V4_RCV 15044 $bad
stop "$server" INT
expect serve-shows-a-few shown "$TMP/server" "^xiwarp: ($V4_SND|\?)"

# Those that do not begin have a line, the others a report.
open sink --stag 1
expect bad-to-sink crowd bad $V4_RCV 15044 $bad
stop "$server" INT
cat "$TMP/server" >>"$TMP/out"
expect sink-shows-a-few shown "$TMP/out" "^(xiwarp: )?($V4_SND|\?)"

open sink --stag 1 --json
expect bad-to-sink-json crowd bad $V4_RCV 15044 $bad
stop "$server" INT
expect json-is-complete [ "$(grep -c '"ddp_error":' "$TMP/out")" = $bad ]
finish
