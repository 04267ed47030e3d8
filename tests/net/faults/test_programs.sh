#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# A program is detached from the interface, or replaced by another, or the pins are removed, while connections use them.
# Then nothing translates sequence numbers. Promised: a connection whose numbers differ from the wire's ends at once;
# its peer gets a reset, and its application is told which program is missing. One that never went direct goes on by
# the
# kernel path, as do those of other processes. Nothing stalls, and no octet is wrong. timeout: 240
. "${0%/*}/../lib/lib.sh"
. "${0%/*}/trouble.sh"

is_direct() { _on_path "$1" "$2" direct; }

# Connections 1 and 2 of receiver A need the programs: 1 is direct, 2 was direct and is misaligned now. 3 never was.
begin() {
	transmit 1 -r 40
	under_way A 1 direct
	transmit 2 -r 20
	under_way A 2 direct
	kill -USR2 "$SEND_2"
	under_way A 2 kernel
	transmit 3 -r 20 -m
	under_way A 3 kernel
}

# ends NAME PROGRAM: checks how these connections ended.
ends() {
	breaks "$1-direct-peer-told" 1 "Connection reset by peer"
	breaks "$1-kernel-path-peer-told" 2 "Connection reset by peer"
	ended_with "$1-application-told" A 1 "Protocol driver not attached"
	ended_with "$1-kernel-path-application-told" A 2 "Protocol driver not attached"
	expect "$1-application-told-why" told A 1 "$2 was taken off $IF_RCV"
	expect "$1-never-direct-goes-on" moves A 3
	expect "$1-never-direct-told-why" told A 3 "$2 was taken off $IF_RCV"
	expect "$1-other-process-goes-on" moves B 4
}

# restored NAME: the same receiver is direct again when the programs are back.
restored() {
	expect "$1-load" load
	transmit 5 -r 40
	under_way A 5 direct
	finishes "$1-again-direct" A 5
	finishes "$1-never-direct-complete" A 3
	no_trace "$1-no-trace"
}

wire_up plain
wire_clamp 262144
load || fail load "exit code $?"
receive A
receive B -P 15047 -k
transmit 4 -r 20 -P 15047
under_way B 4 kernel

# ---- the XDP program
begin
fds=$(find "/proc/$RECV_A/fd" -mindepth 1 | wc -l)
in_ns rcv ip link set dev "$IF_RCV" xdp off
ends xdp-off xiw_ingress
transmit 6 -r 20
under_way A 6 kernel
expect xdp-off-new-is-told told A 6 "xiwarp is not loaded on $IF_RCV"
finishes xdp-off-new-complete A 6
refused xdp-off-load-refused 5 "'xiwarp unload $IF_RCV' first" "$xiwarp" load "$IF_RCV"
expect xdp-off-unload unload
restored xdp-off
expect xdp-off-descriptors-freed wait_until "$LONG" fds_at_most "$RECV_A" "$fds"

# Detached, and attached again at once: segments in between reached the sockets with the wire's numbers.
# shellcheck disable=SC2317
off_and_on() {
	in_ns rcv bpftool net detach xdpdrv dev "$IF_RCV"
	in_ns rcv bpftool net attach xdpdrv pinned "$pins/xiw_ingress" dev "$IF_RCV"
}
begin
off_and_on
ends xdp-off-and-on xiw_ingress
transmit 5 -r 40
under_way A 5 direct
finishes xdp-off-and-on-new-direct A 5
finishes xdp-off-and-on-never-direct-complete A 3

# The same while the receiver is stopped, and its watchdog has given the streams to the kernel.
begin
kill -STOP "$RECV_A"
off_and_on
sleep 0.5
off_and_on
sleep 0.5
kill -CONT "$RECV_A"
ends xdp-off-stopped xiw_ingress
finishes xdp-off-stopped-never-direct-complete A 3

# ---- replaced by another's
begin
other=/sys/fs/bpf/xiw-wire-$$
in_ns rcv bpftool prog load "$BUILD/tests/net/faults/trouble.bpf.o" "$other" type xdp
in_ns rcv bpftool net attach xdpdrv pinned "$other" dev "$IF_RCV" overwrite
ends xdp-replaced xiw_ingress
expect xdp-replaced-unload unload
refused xdp-replaced-load-refused 5 "another XDP program" "$xiwarp" load "$IF_RCV"
in_ns rcv bpftool net detach xdpdrv dev "$IF_RCV"
rm -f "$other"
restored xdp-replaced

# ---- the TC program: it alone, and with the qdisc that it may be in
begin
egress_off rcv "$IF_RCV"
ends tc-off xiw_egress
refused tc-off-load-refused 5 "xiw_egress was detached" "$xiwarp" load "$IF_RCV"
expect tc-off-unload unload
restored tc-off
if ! kernel_has 6 6; then
	begin
	in_ns rcv tc qdisc del dev "$IF_RCV" clsact
	ends qdisc-off xiw_egress
	expect qdisc-off-unload unload
	restored qdisc-off
fi

# ---- the pins
# Promised: a process that has the maps open goes on, also with new connections. Every other process is told.
begin
rm -rf "$pins"
expect pins-direct-goes-on moves A 1
expect pins-direct-stays wait_until "$LONG" is_direct A 1
transmit 5 -r 20
under_way A 5 direct
finishes pins-new-connection A 5
refused pins-status 4 "its pins are not in ${pins%/*}" "$xiwarp" status "$IF_RCV"
refused pins-load-refused 5 "its pins are gone" "$xiwarp" load "$IF_RCV"
refused pins-unload-refused 5 "need" "$xiwarp" unload "$IF_RCV"
receive C -P 15048
transmit 7 -r 20 -P 15048
under_way C 7 kernel
expect pins-other-is-told told C 7 "the pins of $IF_RCV are gone"
expect pins-replace load --replace
ends pins-replace xiw_ingress
finishes pins-other-complete C 7
quit pins-other-ends C
transmit 5 -r 20
under_way A 5 direct
finishes pins-replace-again-direct A 5
finishes pins-replace-never-direct-complete A 3

# ---- under the command, which has given up its privileges by then
# tool_ends NAME PROGRAM COMMAND...: COMMAND takes the program off in the middle of 'xiwarp put'.
tool_ends() {
	local name=$1 program=$2 rc
	shift 2
	spawn server rcv serve.log "$xiwarp" serve --listen $V4_RCV "$TMP/in"
	wait_listen rcv 15044
	spawn sender snd put.log "$xiwarp" put "$TMP/sparse" $V4_RCV
	wait_until "$LONG" flow_direct || fail "$name-direct" "$(cat "$TMP"/*.log)"
	"$@"
	reap "$sender" "$LONG"
	rc=$?
	((rc == 7)) && pass "$name-put" || fail "$name-put" "exit code $rc: $(cat "$TMP/put.log")"
	expect "$name-serve-says" wait_until "$LONG" grep \
		-q "^xiwarp: $V4_SND:.*$program was taken off" "$TMP/serve.log"
	expect "$name-serve-goes-on" in_ns snd "$xiwarp" put "$TMP/small" $V4_RCV
	stop "$server"
	rc=$?
	((rc == 143)) && pass "$name-serve-ends" ||
		fail "$name-serve-ends" "exit code $rc: $(cat "$TMP/serve.log")"
	expect "$name-nothing-kept" test "$(ls -A "$TMP/in")" = small
	rm -f "$TMP/in/small"
	unload >/dev/null
}
flow_direct() { json | grep -q '"path":"direct","epoch":.*"octets_direct":[1-9]'; }
stop "$RECV_A"
mkdir -p "$TMP/in"
truncate -s 4G "$TMP/sparse"
echo small >"$TMP/small"
tool_ends tool-xdp-off xiw_ingress in_ns rcv ip link set dev "$IF_RCV" xdp off
load
tool_ends tool-tc-off xiw_egress egress_off rcv "$IF_RCV"
load
receive A

# ---- unload in the middle
# Promised: unload is refused while a connection needs the programs. With --force, it detaches them as above.
begin
refused unload-busy 5 "2 connections on $IF_RCV need" "$xiwarp" unload "$IF_RCV"
expect unload-busy-goes-on moves A 1
expect unload-busy-direct wait_until "$LONG" is_direct A 1
expect unload-force unload --force
ends unload-force xiw_ingress
finishes unload-force-never-direct-complete A 3
finishes other-process-complete B 4
quit receiver-ends A
quit other-process-ends B
expect end-no-pins test ! -e "$pins"
finish
