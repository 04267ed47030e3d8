#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Completions, polled from the engine's queue and as CQEs in the application's own ring (rings.c): each one comes once,
# in order, with its user_data and length, on both paths. The consumer is fast, or so slow that the queue is full, and
# runs in the engine's thread or in another. timeout: 240
. "${0%/*}/../lib/lib.sh"

xiwarp=$BUILD/xiwarp tests=$BUILD/tests/net
size=$((2 * 1048576))
queue=4096 # entries
report=$TMP/rings

# stream PATH OPTION...: small messages, so that there are many.
stream() {
	local path=$1 receiver sender rc key
	shift
	spawn receiver rcv rings "$tests/conn/rings" -p "$path" "$@" $V4_RCV 15044 0x55 $size
	if ! wait_listen rcv 15044; then
		cat "$TMP/rings"
		return 1
	fi
	spawn sender snd sendto "$tests/lib/sendto" -S "$seed" -s 0x55 -t $size -r 2 -l 1-200 \
		-u 150 $V4_RCV 15044
	reap "$receiver" 30
	rc=$?
	((rc == 124)) && stop "$receiver"
	if ((rc == 0)); then
		reap "$sender" 5
		rc=$?
	fi
	((rc)) && stop "$sender"
	if ((rc)); then
		echo "exit code $rc; receiver: $(cat "$report"); sender: $(cat "$TMP/sendto")"
		return 1
	fi
	for key in tagged_messages tagged_octets untagged_messages untagged_octets; do
		if [[ $(field $key) != "$(field $key "$TMP/sendto")" ]]; then
			echo "$key: sent $(field $key "$TMP/sendto"), received $(field $key)"
			return 1
		fi
	done
	# The stream took the intended path, and the queue became as full as intended.
	(($(field "octets_$path") > 2 * size * 95 / 100)) || {
		cat "$TMP/rings"
		return 1
	}
}

# The engine keeps some entries in reserve for events that it cannot hold back.
filled() {
	local most
	most=$(field most)
	((most >= queue * 3 / 4 && most <= queue)) || {
		echo "at most $most completions in the queue"
		return 1
	}
}

announced() {
	[[ $(field cqes) == "$(field completions)" && $(field cqes) -gt 10000 ]]
}

# Where the engine's ring is no io_uring, it announces nothing in the application's, and says so.
not_to_be_had() {
	in_ns rcv "$tests/conn/rings" -p "$1" -r $V4_RCV 15044 0x55 $size >"$TMP/refused" 2>&1
	[[ $(<"$TMP/refused") == "rings: start: Operation not supported" ||
		$(<"$TMP/refused") == "rings: io_uring: "* ]]
}

# in_rings PATH: completions in the application's ring.
in_rings() {
	local path=$1
	expect $path-ring stream $path -r
	expect $path-ring-announced announced
	expect $path-ring-slow stream $path -r -s
	expect $path-ring-slow-filled filled
	expect $path-ring-slow-announced announced
	expect $path-thread-ring stream $path -t -r
	expect $path-thread-ring-announced announced
}

seed=$((RANDOM + 1))
echo "seed $seed"
wire_up fair 1500
wire_clamp 262144
load_patient rcv || fail load "exit code $?"
pin_napi rcv "$RCV_CORE"
for path in kernel direct; do
	expect $path-queue stream $path
	expect $path-queue-slow stream $path -s
	expect $path-queue-filled filled
	expect $path-thread stream $path -t
	expect $path-thread-slow stream $path -t -s
	expect $path-thread-filled filled
	if [[ $(ring) == io_uring ]]; then
		in_rings $path
	else
		expect $path-ring-refused not_to_be_had $path
	fi
done
in_ns rcv "$xiwarp" unload "$IF_RCV" >/dev/null || fail unload "exit code $?"
finish
