#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Slots of the flow table: a connection that sends no MPA Request takes none, one whose sequence numbers the kernel
# needs
# no translation for keeps none, and one that found none gets one later. slots.c holds all but a few. timeout: 120
. "${0%/*}/../lib/lib.sh"

slots=$BUILD/tests/net/conn/slots

# start PID SIDE LOG ARGUMENTS...: waits for `ready`. Goes on, or ends, at SIGUSR1.
start() {
	local -n _started=$1
	local side=$2 log=$3
	shift 3
	spawn _started "$side" "$log" "$slots" "$@"
	wait_until 10 grep -q ready "$TMP/$log" || fail "$log" "not ready: $(cat "$TMP/$log")"
}

go_on() {
	kill -USR1 "$1"
	reap "$1" 30 || fail "$2" "exit code $?: $(cat "$TMP/$2")"
}

lines() {
	[[ $(wc -l <"$TMP/recv") == "$1" ]]
}

reported() {
	wait_until 10 lines "$1" || fail "$2" "not $1 reports: $(cat "$TMP/recv")"
}

time_waits() {
	in_ns rcv ss -Htan state time-wait | wc -l
}

few() {
	(($(in_ns rcv "$slots" used "$dir") <= 4090))
}

has_one() {
	(($(in_ns rcv "$slots" used "$dir") == 1))
}

wire_up plain 1500
load_patient rcv || fail load "exit code $?"
dir=/sys/fs/bpf/xiwarp/$IF_RCV

start holder rcv hold hold "$dir" 8
spawn recv rcv recv "$slots" recv 15044
wait_listen rcv 15044

# Connections that say nothing.
start idle snd idle idle $V4_RCV 15044 40
in_ns snd timeout 20 "$slots" send $V4_RCV 15044 1 || fail idle "the honest one: exit code $?"
reported 1 idle
if few && grep -q "direct=20.* error=0 bad=-1 no_direct=$" "$TMP/recv"; then
	pass connections-without-a-request-take-no-slot
else
	fail connections-without-a-request-take-no-slot \
		"$(in_ns rcv "$slots" used "$dir") taken: $(cat "$TMP/recv")"
fi
go_on "$idle" idle

# More connections than there are slots end in TIME-WAIT at our side, one after the other.
wait_until 20 lines 41
truncate -s 0 "$TMP/recv"
before=$(time_waits)
in_ns snd timeout 20 "$slots" send $V4_RCV 15044 split 30 || fail untranslated "exit code $?"
reported 30 untranslated
if wait_until 3 few && (($(time_waits) >= before + 30)) &&
	(($(grep -c "direct=0 .* error=0 bad=-1 no_direct=$" "$TMP/recv") == 30)); then
	pass nothing-is-kept-for-what-needs-no-translation
else
	fail nothing-is-kept-for-what-needs-no-translation \
		"$(in_ns rcv "$slots" used "$dir") taken, $(time_waits) in TIME-WAIT:" \
		"$(sort "$TMP/recv" | uniq -c)"
fi

truncate -s 0 "$TMP/recv"
before=$(time_waits)
in_ns snd timeout 20 "$slots" send $V4_RCV 15044 30 || fail time-wait "exit code $?"
reported 30 time-wait
if (($(time_waits) >= before + 30)) &&
	(($(grep -c "direct=20.* went=1 error=0 bad=-1 no_direct=$" "$TMP/recv") == 30)); then
	pass time-wait-makes-room
else
	fail time-wait-makes-room "$(time_waits) in TIME-WAIT: $(sort "$TMP/recv" | uniq -c)"
fi
go_on "$holder" hold

# No slot is free, and then some are.
wait_until 10 few
stop "$recv"
said=$(in_ns rcv "$slots" adopt "$dir")
expect adopted-is-as-new test "$said" = "skew 77 path 1: 0 0 0 0 0 0 0 0 0 0 0 0"

# The owner of a slot is known across PID namespaces: while the engine lives, no other process takes or collects its
# slots. When it has died, even as a zombie, any process does.
spawn foreign rcv foreign unshare --pid --fork --kill-child "$slots" hold "$dir" 4086
wait_until 10 grep -q ready "$TMP/foreign" || fail foreign "not ready: $(cat "$TMP/foreign")"
before=$(in_ns rcv "$slots" used "$dir")
expect foreign-not-collected test "$(in_ns rcv "$slots" collect "$dir")" = 0
expect foreign-kept test "$(in_ns rcv "$slots" used "$dir")" = "$before"
expect foreign-not-abandoned test "$(in_ns rcv "$slots" collect "$dir")" = 0
stop "$foreign" KILL
# shellcheck disable=SC2317
collected() { in_ns rcv "$slots" collect "$dir" >/dev/null; \
	(($(in_ns rcv "$slots" used "$dir") < 10)); }
expect foreign-dead-collected wait_until 10 collected

in_ns rcv "$BUILD/xiwarp" unload --force "$IF_RCV" >/dev/null 2>&1
load_patient rcv || fail load "exit code $?"
start holder rcv hold hold "$dir" 0
spawn recv rcv recv "$slots" recv 15044
wait_listen rcv 15044
start stay snd stay stay $V4_RCV 15044
reported 1 later
if grep -q "direct=0 kernel=2.* went=0 error=0 bad=-1 no_direct=flow table of $IF_RCV: full" \
	"$TMP/recv"; then
	pass a-full-table-is-told
else
	fail a-full-table-is-told "$(cat "$TMP/recv")"
fi
go_on "$holder" hold
# The library asks again ten times a second.
wait_until 10 has_one || fail later "$(in_ns rcv "$slots" used "$dir") taken"
go_on "$stay" stay
reported 2 later
if tail -n 1 "$TMP/recv" | grep \
	-q "direct=[1-9].* kernel=[1-9].* went=1 error=0 bad=-1 no_direct=$"; then
	pass a-slot-later-is-a-direct-path-later
else
	fail a-slot-later-is-a-direct-path-later "$(cat "$TMP/recv")"
fi
stop "$recv"
finish
