#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# One peer with many connections, to the commands that serve everybody: it does not fill their logs, and leaves others
# connections and the direct path. timeout: 120
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

open perf -s
expect bad-to-perf crowd bad $V4_RCV 15044 $bad
stop "$server" INT
expect perf-shows-a-few shown "$TMP/server" "^xiwarp: ($V4_SND|\?)"

# hold N ADDRESS: N connections that say nothing; those that the server accepts stay until drop.
hold() {
	mkfifo "$TMP/go-on"
	spawn holder snd hold sh -c "exec ${crowd[*]} hold $2 15044 $1 <'$TMP/go-on'"
	exec 3>"$TMP/go-on"
	wait_until 30 grep -q . "$TMP/hold" || fail hold "$(cat "$TMP/hold" "$TMP/server")"
}
drop() {
	exec 3>&-
	reap "$holder" 10 || fail hold "exit code $?"
	rm "$TMP/go-on"
}

# One peer asks for all connections that the descriptors allow, and another one finds some. The peer itself does again
# when these have ended. With one thread, and with several.
hostile() { # SHARE COMMAND...
	local share=$1
	shift
	hold 130 $V4_RCV
	expect "$*-share" [ "$(cat "$TMP/hold")" = "$share" ]
	expect "$*-named" grep -q "^xiwarp: $V4_SND:[0-9]*: has its share of .* refused" \
		"$TMP/server"
	# One in the time that a startup may take, by each thread.
	expect "$*-seldom" [ "$(grep -c "has its share" "$TMP/server")" -le 16 ]
}
put() { in_ns snd timeout 60 "$xiwarp" put "$TMP/file" "$1" >"$TMP/put" 2>&1; }
few_files() { # COMMAND...
	spawn server rcv server sh -c "ulimit -n 128; exec '$xiwarp' $* --path kernel >'$TMP/out'"
	wait_listen rcv 15044 || fail "few $1" "nobody listens: $(cat "$TMP/server")"
}
random_file "$TMP/file" 1
for threads in 1 2; do
	few_files serve --threads $threads --force "$TMP/in"
	hostile 28 serve-$threads
	expect "serve-$threads-other" put "$V6_RCV"
	drop
	expect "serve-$threads-again" wait_until 10 put $V4_RCV
	stop "$server" INT
done
few_files sink --stag 0x1234
hostile 56 sink
spawn other snd other "$BUILD/tests/net/lib/sendto" -t 100000 "$V6_RCV" 15044
reap "$other" 30 && pass sink-other || fail sink-other "exit code $?: $(cat "$TMP/other")"
drop
stop "$server" INT

# One peer asks for all slots of the flow table; another one goes direct.
load_patient rcv --flows 64 || fail load "exit code $?"
open_direct() {
	spawn server rcv server sh -c "exec '$xiwarp' sink --stag 0x1234 --json >'$TMP/out'"
	wait_listen rcv 15044 || fail "open sink" "nobody listens: $(cat "$TMP/server")"
}
open_direct
hold 80 $V4_RCV
expect flows-all-accepted [ "$(cat "$TMP/hold")" = 80 ]
in_ns rcv "$xiwarp" status --json "$IF_RCV" >"$TMP/status"
expect flows-half [ "$(grep -o '"index":' "$TMP/status" | wc -l)" = 33 ]
spawn other snd other "$BUILD/tests/net/lib/sendto" -t 100000 "$V6_RCV" 15044
reap "$other" 30 || fail flows-other "exit code $?: $(cat "$TMP/other")"
wait_until 5 grep -q . "$TMP/out"
expect flows-other-direct [ "$(field octets_direct "$TMP/out")" -gt 0 ]
drop
stop "$server" INT
told=$(grep -c "flow table of $IF_RCV: this peer has its share" "$TMP/out")
expect flows-told [ "$told" -gt 30 ]
finish
