#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 120
#
# A receiver that is stopped under direct traffic, as by a debugger or the freezer of containers: the watchdog gives the
# stream to the socket, which takes all that was offered. Then its window is closed, and its update starts the peer at
# once. What a full socket drops would be loss, and the peer would wait for its retransmission timer.
. "${0%/*}/../lib/lib.sh"

xiwarp=$BUILD/xiwarp
_ss() { in_ns "$1" ss -tnoH state established "$2 = :15044"; }
queue() { _ss rcv sport | awk '{ print $1 }'; }
# The socket takes no more.
full() {
	local had
	had=$(queue)
	sleep 1
	[[ $had -gt 1000000 && $(queue) == "$had" ]]
}
# "timer:(on,..." is the retransmission timer.
retransmits() { _ss snd dport | grep -q 'timer:(on'; }
watchdog() { in_ns rcv "$xiwarp" status --json "$IF_RCV" | grep -q '"watchdog":[1-9]'; }
direct() { in_ns rcv "$xiwarp" status --json "$IF_RCV" | grep -Eq '"octets_direct":[1-9][0-9]{6}'; }
# It is still there, and the engine reads.
goes_on() {
	local n
	n=$(queue)
	[[ $n && $n -lt 1000000 ]]
}
drops() { in_ns rcv nstat -saz TcpExtTCPRcvQDrop | awk '/RcvQDrop/ { print $2 }'; }

wire_up plain 1500 1 || exit 1
in_ns rcv "$xiwarp" load "$IF_RCV" >/dev/null || fail load "exit code $?"
spawn server rcv server.log "$xiwarp" perf -s
wait_listen rcv 15044
spawn client snd client.log "$xiwarp" perf --time 60 "$V4_RCV"
expect direct wait_until 10 direct
kill -STOP "$server"
expect watchdog wait_until 10 watchdog
expect full wait_until 30 full
expect nothing-dropped [ "$(drops)" = 0 ]
retransmits && fail waits-for-window "$(_ss snd dport)" || pass waits-for-window
kill -CONT "$server"
expect goes-on wait_until 10 goes_on
stop "$client" KILL
stop "$server" INT
finish
