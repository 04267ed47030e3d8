#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The interface goes down and up, and its MTU changes both ways, under connections on either path: every octet is
# compared at the end. timeout: 240
. "${0%/*}/../lib/lib.sh"
. "${0%/*}/trouble.sh"

link() { in_ns "$1" ip link set "$(_if "$1")" "${@:2}"; }
is_direct() { _on_path "$1" "$2" direct; }
left_because() { grep -Eq "\"id\":$2,.*\"$3\":[1-9]" "$TMP/$1.state"; }
fell_back_for() { wait_until "$LONG" left_because "$@"; }

wire_up plain
wire_clamp 262144
# Where a connection is to leave the direct path for its segments, it must not have left it before.
load_patient rcv || fail load "exit code $?"

# ---- a larger MTU and the old one again, for a process that has given up its privilege
# Promised: it cannot open sockets anew, so it keeps those that it has, says what is to be done, and goes direct again.
mkdir "$TMP/in"
random_file "$TMP/file" 20
spawn server rcv serve.log "$xiwarp" serve --force "$TMP/in"
wait_until "$LONG" _listens rcv 15044 || fail kept-serves "$(cat "$TMP/serve.log")"
# put_says WORDS: the last file was so received.
put_says() {
	in_ns snd timeout "$LONG" "$xiwarp" put "$TMP/file" $V4_RCV >/dev/null &&
		tail -n 1 "$TMP/serve.log" | grep -Eq "$1"
}
expect kept-direct put_says ', [1-9][0-9.]* % direct'
link snd mtu 9000
link rcv mtu 9000
sleep 1.5
expect kept-told put_says 'has grown beyond 1500 since the start: start this process again'
link snd mtu 1500
link rcv mtu 1500
sleep 1.5
expect kept-direct-again put_says ', [1-9][0-9.]* % direct'

# ---- the peer of put is not to be reached any more
truncate -s 2G "$TMP/sparse"
moving() { in_ns snd ss -Htni "dport = :15044" | grep -Eq 'bytes_acked:[0-9]{7}'; }
spawn pid snd put.log "$xiwarp" put --peer-timeout 2 "$TMP/sparse" $V4_RCV
wait_until "$LONG" moving
link rcv down
reap "$pid" "$LONG"
rc=$?
if ((rc == 7)) && grep -q "$V4_RCV does not answer any more" "$TMP/put.log"; then
	pass put-peer-timeout
else
	fail put-peer-timeout "exit code $rc: $(cat "$TMP/put.log")"
fi
link rcv up
stop "$server" INT

# ---- connections of a process that keeps its privilege, and of another one
receive A
receive B -P 15047 -k
transmit 1 -r 40
under_way A 1 direct
transmit 2 -r 20 -m
under_way A 2 kernel
transmit 3 -r 20 -P 15047
under_way B 3 kernel

# ---- down and up
# Promised: segments under way are lost, and TCP repairs that after some retransmission time-outs. Programs, AF_XDP
# sockets and the direct path stay.
for side in rcv snd; do
	link $side down
	sleep 1.3
	link $side up
	for c in "A 1" "A 2" "B 3"; do
		# shellcheck disable=SC2086
		expect "down-$side-connection-${c#* }-goes-on" moves $c
	done
	expect "down-$side-direct-again" wait_until "$LONG" is_direct A 1
done

# ---- a larger MTU
# Promised: existing connections go on. The AF_XDP sockets have no room for the segments of new ones, so the engine
# gives its queues back and binds them anew, with connections on the kernel path meanwhile; then all go direct.
link snd mtu 9000
link rcv mtu 9000
for c in "A 1" "A 2" "B 3"; do
	# shellcheck disable=SC2086
	expect "mtu-9000-connection-${c#* }-goes-on" moves $c
done
transmit 4 -r 40
under_way A 4 direct
expect mtu-9000-direct-again wait_until "$LONG" is_direct A 1
finishes mtu-9000-direct-complete A 1
finishes mtu-9000-misaligned-complete A 2
finishes mtu-9000-new-complete A 4
transmit 5 -r 40
under_way A 5 direct
expect mtu-9000-large-segments sh \
	-c "nsenter --net=/run/netns/$(_ns snd) ss -tin 'dport = :15046' | grep -q 'mss:89'"

# ---- a smaller one
# Promised: FPDUs that were cut for larger segments no longer fit one: the kernel path takes these, and as soon as
# the sender cuts by the new size the connection is direct again.
link snd mtu 1500
link rcv mtu 1500
expect mtu-1500-falls-back fell_back_for A 5 "(misaligned|FPDU larger than a segment)"
expect mtu-1500-goes-on moves A 5
expect mtu-1500-direct-again wait_until "$LONG" is_direct A 5
finishes mtu-1500-complete A 5
finishes other-process-complete B 3
no_trace no-trace

# ---- gone for good
# Promised: every user of the interface is told at once and closes what belongs to it. The peer hears nothing more, and
# gives up when TCP does. The pins can be removed.
fds=$(find "/proc/$RECV_A/fd" -mindepth 1 | wc -l)
transmit 6 -r 40 -t 2000
under_way A 6 direct
in_ns rcv ip link del "$IF_RCV"
ended_with gone-application-told A 6 "Protocol driver not attached"
expect gone-application-told-why told A 6 "$IF_RCV has gone"
breaks gone-peer-told 6 "Connection timed out|No route to host|Network is unreachable"
expect gone-descriptors-freed wait_until "$LONG" fds_at_most "$RECV_A" "$fds"
gone_is_shown() {
	nsenter --net="/run/netns/$(_ns rcv)" "$xiwarp" status "$IF_RCV" |
		grep -q 'the interface is gone'
}
expect gone-status gone_is_shown
expect gone-unload unload
expect gone-no-pins test ! -e "$pins"
quit receiver-ends A
quit other-process-ends B
finish
