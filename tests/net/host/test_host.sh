#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 300
#
# What other interfaces to the library are made of (user/host), between two processes over a wire, on both paths:
# every octet of Sends, Writes, Reads and Immediate Data, shared and late buffers, refusals, hasty ends, and a child of
# fork().
. "${0%/*}/../lib/lib.sh"

host=$BUILD/tests/net/host/host report=$TMP/got

both() { # SERVE USE CONNS [MESSAGES]
	local rc_use rc_serve
	spawn SERVE rcv got env XIWARP_PATH="$path" "${host}_serve" "$1" "$3" ${4:+"$4"}
	wait_listen rcv 15090 20
	spawn USE snd used "${host}_use" "$2" "$V4_RCV"
	reap "$USE" 60
	rc_use=$?
	reap "$SERVE" 30
	rc_serve=$?
	((rc_use == 124)) && stop "$USE"
	((rc_serve == 124)) && stop "$SERVE"
	cat "$TMP/got" "$TMP/used"
	((rc_use == 0 && rc_serve == 0))
}

# How much goes direct depends on how soon buffers are posted again: a Send that finds none in time takes the kernel's
# path.
by_path() {
	(($(field kernel) + $(field direct) > 1000000)) || return
	if [[ $path == kernel ]]; then
		(($(field direct) == 0))
	else
		(($(field direct) > 0))
	fi
}

# 10 rounds of each of 4 connections count in one word.
work() {
	both own work 4 && by_path && (($(field word) == 40))
}

sleeping() {
	both own sleep 4 && by_path && (($(field word) == 40))
}

shared() {
	both shared work 4 && (($(field word) == 40 && $(field lows) == 1))
}

late() {
	both late work 4 && (($(field word) == 40))
}

hasty() {
	both own hasty 4 && by_path
}

refuse() {
	both refuse refuse 1
}

# The parent's connection counts nothing.
forked() {
	both own fork 5 && (($(field word) == 40))
}

# The only queue is another process's, which is said once; what both do is as before.
taken() {
	local rc
	spawn SERVE rcv got "${host}_serve" refuse 1
	wait_listen rcv 15090 20
	spawn USE rcv used "${host}_use" refuse "$V4_RCV"
	reap "$USE" 60
	rc=$?
	reap "$SERVE" 30 || rc=1
	cat "$TMP/got" "$TMP/used"
	((rc == 0)) && [[ $(grep -c "kernel's path" "$TMP/used") == 1 ]] &&
		! grep -q "kernel's path" "$TMP/got"
}

for queues in 1 2; do
	wire_up plain 1500 "$queues" || exit 1
	load_patient rcv || exit 1
	export XIWARP_ENGINES=$queues
	for path in kernel direct; do
		for what in work sleeping shared late hasty refuse forked; do
			expect "$path-$queues-$what" $what
		done
	done
	((queues == 2)) || expect taken taken
	in_ns rcv "$BUILD/xiwarp" unload "$IF_RCV" >/dev/null || fail unload "exit code $?"
done
finish
