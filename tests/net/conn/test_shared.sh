#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 300
#
# Streams that share a receive queue, with completion queues that a second thread takes from (shared_recv.c), on both
# paths: each octet of each message, the event of few buffers, a queue that is empty, a stream that has its share,
# peers that end in the middle of messages, and Sends that are too long. No buffer is lost or comes twice, and queues in
# use cannot be freed. At the peer, the operation that was refused has the cause.
. "${0%/*}/../lib/lib.sh"

shared=$BUILD/tests/net/conn/shared report=$TMP/got

both() { # WHAT PATH
	local rc_send rc_recv
	spawn RECV rcv got "${shared}_recv" "$1" "$2"
	wait_listen rcv 15078 20
	spawn SEND snd sent "${shared}_send" "$1" "$V4_RCV"
	reap "$SEND" 60
	rc_send=$?
	reap "$RECV" 30
	rc_recv=$?
	((rc_send == 124)) && stop "$SEND"
	((rc_recv == 124)) && stop "$RECV"
	cat "$TMP/got" "$TMP/sent"
	((rc_send == 0 && rc_recv == 0))
}

by_path() { # PATH
	(($(field "$1") > ($(field direct) + $(field kernel)) * 9 / 10))
}

good() {
	both good "$1" && (($(field received) == 6 * 400)) && by_path "$1" &&
		(($(field blamed "$TMP/sent") == 6 && $(field access "$TMP/sent") == 6))
}

# 36 messages for 20 buffers: at least three streams end, and the event comes once.
empty() {
	both empty "$1" && (($(field received) == 20 && $(field lows) == 1)) &&
		(($(field errors) >= 3)) && (($(field not_ready "$TMP/sent") == $(field errors)))
}

# Each of 6 streams gets 3 of 40.
share() {
	both share "$1" && (($(field received) == 6 * 3 && $(field errors) == 6)) &&
		(($(field not_ready "$TMP/sent") == 6))
}

half() {
	both half "$1"
}

# Each of 6 streams has used up one buffer.
long() {
	both long "$1" && (($(field received) == 0 && $(field flushed) == 6)) &&
		(($(field errors) == 6))
}

wire_up plain 1500 || exit 1
load_patient rcv || exit 1
for path in kernel direct; do
	for what in good empty share half long; do
		expect "$path-$what" $what $path
	done
done
in_ns rcv "$BUILD/xiwarp" unload "$IF_RCV" >/dev/null || fail unload "exit code $?"
finish
