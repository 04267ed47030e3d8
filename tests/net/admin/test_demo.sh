#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The demonstration: its report, and that it leaves nothing behind, whenever it is interrupted.
# timeout: 240
. "${0%/*}/../lib/lib.sh"

# Its own build directory, so that the report of a real demonstration is not overwritten.
mkdir "$TMP/build"
ln -s "$BUILD/xiwarp" "$BUILD/tests" "$TMP/build/"
report=$TMP/build/demo/report.json

# traces PID: what the demonstration with this pid has left.
traces() {
	local id ns f
	printf -v id '%x' "$1"
	for ns in snd rcv mid; do
		[[ -e /run/netns/xiw-$1-$ns ]] && echo "namespace xiw-$1-$ns"
	done
	compgen -G "/sys/fs/bpf/xiwarp/xw$id*"
	compgen -G "/sys/fs/bpf/xiw-wire-$1*"
	compgen -G "${TMPDIR:-/tmp}/xiw-$1.*"
	for f in /proc/[0-9]*/cmdline; do
		{ tr '\0' ' ' <"$f" | grep "/xiw-$1\\."; } 2>/dev/null
	done
}

no_traces() {
	local left
	left=$(traces "$1")
	[[ -z $left ]] || { echo "left: $left"; return 1; }
}

demo() { # VAR MIB
	spawn "$1" host demo.log env XIW_BUILD="$TMP/build" DEMO_MIB="$2" "$ROOT/tools/demo"
}

said() { grep -q "$1" "$TMP/demo.log"; }

pid=
demo pid 256
reap "$pid" 100
rc=$?
((rc == 0)) && pass demo || fail demo "exit code $rc: $(cat "$TMP/demo.log")"
fields='"octets": 268435456, "digest_equal": true, "direct_share": (1\.0+|0\.9[5-9]0*[0-9]*), '
fields+='"gbit_per_s": [0-9.]+, "hand_offs": [1-9][0-9]*'
expect demo-report grep -Eqx "\{ $fields \}" "$report"
expect demo-no-traces no_traces "$pid"

# interrupt NAME SIGNAL CODE WORDS: as soon as it has said WORDS.
interrupt() {
	demo pid 512
	if ! wait_until 60 said "$4"; then
		fail "$1" "never said '$4': $(cat "$TMP/demo.log")"
		stop "$pid"
		return
	fi
	sleep 0.2
	kill -"$2" "$pid"
	reap "$pid" 30
	rc=$?
	((rc == $3)) && pass "$1" || fail "$1" "exit code $rc: $(cat "$TMP/demo.log")"
	expect "$1-no-traces" no_traces "$pid"
	expect "$1-no-report" test ! -e "$report"
}

interrupt demo-int-wire INT 130 "Two namespaces"
interrupt demo-term-file TERM 143 "A file of"
interrupt demo-int-transfer INT 130 "Sender:"
interrupt demo-term-transfer TERM 143 "Sender:"
interrupt demo-hup-transfer HUP 129 "Sender:"
finish
