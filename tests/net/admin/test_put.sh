#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# put and serve over the direct path with many small files. Each end has an answer on the way when the next message of
# the other end comes, and the direct path may deliver that message before io_uring reports the answer as sent.
# timeout: 150
. "${0%/*}/../lib/lib.sh"

xiwarp=$BUILD/xiwarp
FILES=1500

wire_up plain 1500
mkdir "$TMP/many" "$TMP/in"
for ((i = 0; i < FILES; i++)); do
	echo "$i" >"$TMP/many/f$i"
done
# One file is large enough to take the direct path.
random_file "$TMP/many/large" 1
: >"$TMP/many/empty"

load_patient rcv || fail load "exit code $?"
spawn server rcv serve.log sh -c 'exec "$@" >"$0"' "$TMP/serve.json" "$xiwarp" serve \
	--json "$TMP/in"
wait_listen rcv 15044 5
spawn put snd put.log "$xiwarp" put "$TMP"/many/* "$V4_RCV"
reap "$put" 30
rc=$?
((rc == 124)) && stop "$put"
if ((rc)); then
	fail many-files-put "exit code $rc: $(tail -n 2 "$TMP/put.log" "$TMP/serve.log")," \
		"$(wc -l <"$TMP/serve.json") files"
else
	pass many-files-put
fi
# shellcheck disable=SC2317
equal() { diff -r "$TMP/many" "$TMP/in" >"$TMP/diff" || { head -n 3 "$TMP/diff"; return 1; }; }
expect many-files-equal equal
stop "$server" INT
expect many-files-direct [ "$(grep -c '"octets_direct":[1-9]' "$TMP/serve.json")" \
	-gt $((FILES / 2)) ]
expect many-files-quiet [ "$(grep -vc "serving" "$TMP/serve.log")" = 0 ]

# The same on several connections at once.
rm -r "$TMP/in" && mkdir "$TMP/in"
spawn server rcv serve.log sh -c 'exec "$@" >"$0"' "$TMP/serve.json" "$xiwarp" serve \
	--json "$TMP/in"
wait_listen rcv 15044 5
spawn put snd put.log "$xiwarp" put --connections 4 "$TMP"/many/* "$V4_RCV"
reap "$put" 30
rc=$?
((rc == 0)) && pass at-once || fail at-once "exit code $rc: $(tail -n 2 "$TMP/put.log")"
expect at-once-equal equal
stop "$server" INT
# shellcheck disable=SC2317
peers() { grep -o '"peer":"[^"]*"' "$TMP/serve.json" | sort -u | wc -l; }
expect at-once-peers [ "$(peers)" -gt 1 ]

# On a terminal, an error in the middle of a file is not behind the line of progress.
rm -r "$TMP/in" && mkdir "$TMP/in"
truncate -s 4G "$TMP/sparse"
spawn server rcv serve.log "$xiwarp" serve "$TMP/in"
wait_listen rcv 15044 5
spawn put snd terminal script -qefc "'$xiwarp' put '$TMP/sparse' $V4_RCV" /dev/null
if wait_until 10 grep -q "left" "$TMP/terminal"; then
	stop "$server" KILL
	reap "$put" 20
	tr '\r' '\n' <"$TMP/terminal" >"$TMP/lines"
	expect terminal-error-alone grep -q "^xiwarp: " "$TMP/lines"
else
	fail terminal "$(cat "$TMP/terminal")"
fi
in_ns rcv "$xiwarp" unload "$IF_RCV" >/dev/null || fail unload "exit code $?"
# A server that stops to answer: put ends with --peer-timeout, and says what it waits for.
stubborn() { # HOW
	spawn stubborn rcv stubborn "${0%/*}/serve_hostile.py" 127.0.0.1 15047 "$1"
	wait_listen rcv 15047 10
}
for how in half mute; do
	stubborn $how
	refused "stubborn-$how" 7 "does not answer any more: it has had large for" "$xiwarp" put \
		--peer-timeout 1 "$TMP/many/large" 127.0.0.1:15047
	stop "$stubborn"
done
stubborn less
refused stubborn-less 7 "large was not accepted: the receiver has another length of it" \
	"$xiwarp" put "$TMP/many/large" 127.0.0.1:15047
stop "$stubborn"
stubborn perf
refused stubborn-perf 7 "127.0.0.1:15047 has answered no message of the run" "$xiwarp" perf -l \
	--path kernel -t 1 -i 0 127.0.0.1:15047
stop "$stubborn"
finish
