#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 200
#
# qemu moves a virtual machine by RDMA (migrate rdma:HOST:PORT), with memory registered as it is sent, and with all of
# it registered at once. Half of the machine's memory is random. At the end it is the same on both sides.
. "${0%/*}/../lib/lib.sh"
. "${0%/*}/programs.sh"

qemu=qemu-system-x86_64
type $qemu >/dev/null 2>&1 || {
	skip migration "$qemu is not installed (make programs)"
	finish
}
wire_up plain 1500 1 || exit 1
wire_clamp 262144
load_both || exit 1
random_file "$TMP/random" 32
machine="$qemu -nodefaults -display none -accel tcg -M pc -m 64"

# VAR NAME SIDE IF OPTION...: a machine, whose monitor reads $TMP/NAME.in. What it writes comes to $TMP/NAME.says.
start() {
	local reader
	rm -f "$TMP/$2".{in,out,says}
	mkfifo "$TMP/$2.in" "$TMP/$2.out"
	# shellcheck disable=SC2086
	spawn "$1" "$3" "$2" "${foreign[@]}" "$xiwarp" run --report --if "$4" -- $machine \
		-chardev "pipe,id=m,path=$TMP/$2" -mon m "${@:5}"
	spawn reader host "$2.says" cat "$TMP/$2.out"
}

# NAME COMMAND WORDS [SECONDS]: gives the command to the monitor until it says that.
monitor() {
	wait_until "${4:-20}" _says "$@"
}

_says() {
	: >"$TMP/$1.says"
	timeout 2 sh -c 'echo "$1" >"$2"' sh "$2" "$TMP/$1.in" || return
	wait_until 1 grep -q "$3" "$TMP/$1.says"
}

# NAME: the machine's memory above 1 MiB, in $TMP/NAME.memory. It stands still, on either side.
save_memory() {
	monitor "$1" "pmemsave 0x100000 0x3f00000 \"$TMP/$1.memory\"" pmemsave &&
		monitor "$1" "info status" "VM status: paused"
}

# PIN: moves a machine, and stops both.
move() {
	local from to rc rc_from rc_to
	start from from snd "$IF_SND" -device "loader,file=$TMP/random,addr=0x1000000,force-raw=on"
	start to to rcv "$IF_RCV" -S -incoming defer
	monitor from "migrate_set_capability rdma-pin-all $1" rdma-pin-all &&
		monitor to "migrate_set_capability rdma-pin-all $1" rdma-pin-all &&
		monitor to "migrate_incoming rdma:$V4_RCV:7900" migrate_incoming &&
		wait_listen rcv 7900 &&
		monitor from "migrate -d rdma:$V4_RCV:7900" "migrate -d" &&
		monitor from "info migrate" "Migration status: completed" 60 &&
		save_memory from && save_memory to &&
		cmp "$TMP/from.memory" "$TMP/to.memory"
	rc=$?
	monitor from quit quit 2
	monitor to quit quit 2
	reap "$from" 20
	rc_from=$?
	reap "$to" 20
	rc_to=$?
	rm -f "$TMP"/*.in "$TMP"/*.out # nobody may read them any more
	tail -n 20 "$TMP"/{from,to} "$TMP"/{from,to}.says
	return $((rc | rc_from | rc_to))
}

for pin in off on; do
	move $pin >"$TMP/move" 2>&1
	rc=$?
	if ((rc)); then
		fail "pin-all-$pin" "exit code $rc: $(cat "$TMP/move")"
		continue
	fi
	pass "pin-all-$pin"
	expect "pin-all-$pin-octets" cmp -n 16777216 -i 0:15728640 "$TMP/random" "$TMP/to.memory"
	expect "pin-all-$pin-direct" direct_enough "$TMP/to" 95
done
finish
