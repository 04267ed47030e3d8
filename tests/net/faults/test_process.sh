#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# A process is killed, stopped and continued, ended, or stalls, and two processes use one interface. The test checks
# what both ends see, that other connections do not notice, and that nothing is left behind. Every octet is compared.
# The
# affected connection is on the direct path. timeout: 240
. "${0%/*}/../lib/lib.sh"
. "${0%/*}/trouble.sh"

wire_up plain
wire_clamp 262144
load || fail load "exit code $?"

# The programs' own count, for when the receiver cannot be asked.
by_watchdog() {
	json | grep -Eq "\"remote\":\"$V4_SND:$1\",.*\"path\":\"kernel\".*\"watchdog\":[1-9]"
}
again_direct() { _on_path "$1" "$2" direct; }

# ---- two processes on one interface
# Promised: the second is told that the queue is taken and uses the kernel path; neither harms the other.
receive A
transmit 1 -r 40 -p 40001
under_way A 1 direct
receive B -P 15047
transmit 2 -r 20 -P 15047
under_way B 2 kernel
busy='AF_XDP on .* busy: another engine has it, of this process or another'
expect two-second-told grep -q '"id":2,.*"no_direct":"'"$busy"'"' "$TMP/B.state"
expect two-first-moves moves A 1
expect two-first-direct stays_direct A 1

# ---- killed
# Promised: the kernel ends the connections of the dead process, and their peers learn of it. A new process gets the
# queue at once. A connection between the same ports is new, whatever state the slot was left in.
stop "$RECV_A" KILL
breaks kill-peer-told 1
expect kill-other-moves moves B 2
receive A
transmit 1 -r 40 -p 40001
under_way A 1 direct
finishes kill-same-ports A 1
transmit 1 -r 40 -p 40001
under_way A 1 direct
# Its sender is silent, so that no segment tells XDP that the dead process's ring is gone. B then gets the queue, and
# nothing that belonged to the other process.
kill -STOP "$SEND_1"
sleep 0.5 # until what its socket holds has been sent
stop "$RECV_A" KILL
sleep 1 # the kernel lets go of the queue behind the process's end
transmit 3 -r 20 -P 15047
under_way B 3 direct
kill -CONT "$SEND_1"
breaks kill-idle-peer-told 1
expect kill-idle-other-moves moves B 3

# ---- stopped, and continued
# Promised: XDP gives the streams to the kernel when frames have waited for 200 ms, so that peers get answers. When the
# process continues, it gets every octet once and in order, and the direct path again.
receive A -P 15046 -k
transmit 1 -r 20
under_way A 1 kernel
transmit 4 -r 40 -P 15047 -p 40004
under_way B 4 direct
kill -STOP "$RECV_B"
expect stop-watchdog wait_until "$LONG" by_watchdog 40004
expect stop-other-moves moves A 1
sleep 1
kill -CONT "$RECV_B"
expect stop-goes-on moves B 4
expect stop-again-direct wait_until "$LONG" again_direct B 4

# ---- the application stalls
# Promised: the same while the application is busy in its handler. If it runs the engine but takes no completions, the
# queue fills, the engine takes no more segments, and TCP's window stops the peer. Nothing is lost.
kill -USR1 "$RECV_B"
expect stall-begins wait_until "$LONG" grep -q ^stalling "$TMP/B"
expect stall-watchdog wait_until "$LONG" by_watchdog 40004
expect stall-goes-on moves B 4
expect stall-again-direct wait_until "$LONG" again_direct B 4
kill -USR2 "$RECV_B"
expect untaken-begins wait_until "$LONG" grep -q '^taking nothing' "$TMP/B"
expect untaken-other-moves moves A 1
expect untaken-goes-on moves B 4
expect untaken-again-direct wait_until "$LONG" again_direct B 4
finishes stalled-complete B 4
finishes stalled-same-process-complete B 3
finishes stopped-kernel-path-complete B 2
finishes other-process-complete A 1
no_trace stalled-no-trace

# ---- told to end in the middle of a transfer
# Promised: its peers get resets, its streams return to the kernel, and the programs can be unloaded.
transmit 5 -r 40 -P 15047
under_way B 5 direct
quit term-ends B
breaks term-peer-told 5 "Connection reset by peer"
# ---- a child, by fork() alone
# Promised: the child has nothing of the engine, which goes on in the parent. When the parent is killed, its connections
# end, and another process can have the queue, however long the child lives.
receive F -P 15047 -F
transmit 6 -r 20 -P 15047
under_way F 6 direct
child=$(sed -n 's/^child //p' "$TMP/F")
expect child-there kill -0 "$child"
expect child-goes-on moves F 6
expect child-goes-on-direct stays_direct F 6
stop "$RECV_F" KILL
breaks child-peer-told 6
receive G -P 15047
transmit 6 -r 20 -P 15047
under_way G 6 direct
expect child-lives-on kill -0 "$child"
kill -KILL "$child"
finishes child-again-direct G 6
quit child-ends G

mkdir "$TMP/in"
truncate -s 4G "$TMP/sparse"
serves_direct() {
	nsenter --net="/run/netns/$(_ns rcv)" "$xiwarp" status --json |
		grep -q '"path":"direct".*"octets_direct":[1-9]'
}
for sig in INT TERM; do
	spawn server rcv serve.log "$xiwarp" serve --path direct --listen $V4_RCV "$TMP/in"
	wait_listen rcv 15044
	spawn sender snd put.log "$xiwarp" put "$TMP/sparse" $V4_RCV
	wait_until "$LONG" serves_direct || fail "serve-$sig-direct" "$(cat "$TMP"/*.log)"
	stop "$server" $sig
	rc=$?
	((rc == 128 + $(kill -l $sig))) && pass "serve-$sig" ||
		fail "serve-$sig" "exit code $rc: $(cat "$TMP/serve.log")"
	reap "$sender" "$LONG"
	rc=$?
	((rc == 7)) && pass "serve-$sig-peer-told" ||
		fail "serve-$sig-peer-told" "exit code $rc: $(cat "$TMP/put.log")"
	expect "serve-$sig-no-file" test -z "$(ls -A "$TMP/in")"
done
quit kernel-path-ends A
expect end-unload unload
expect end-no-pins test ! -e "$pins"
finish
