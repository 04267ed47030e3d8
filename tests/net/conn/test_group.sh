#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 600
#
# A group of four engines on an interface with four receive queues, a thread for each. Every stream is on the engine of
# its queue from its first event on, in both roles, and goes direct; every octet is compared. When an engine ends, the
# others take what comes later.

. "${0%/*}/../lib/lib.sh"

CONNS=64 OCTETS=$((512 << 10)) ENGINES=4

# A sender that sends again may choose another queue (tcp(7): a new hash), and then the stream belongs elsewhere.
wire_up plain 1500 $ENGINES || exit 1
wire_clamp 16384
set_sysctl snd net.core.txrehash 0
load_patient rcv || exit 1

one_run() { # NAME ROLE ENGINES [VARIABLE]
	local name=$1 role=$2 got=$TMP/got sent=$TMP/sent rc_recv rc_send
	local group=$BUILD/tests/net/conn/group size=("$CONNS" "$OCTETS") env=${4:-NONE=1}
	if [[ $role == responder ]]; then
		spawn RECV rcv got env "$env" "$group" recv "$3" "${size[@]}"
		wait_listen rcv 15077 20
		${before:-}
		spawn SEND snd sent "$group" send "$V4_RCV" "${size[@]}"
	else
		spawn SEND snd sent env "$env" "$group" send - "${size[@]}"
		wait_listen snd 15077 20
		spawn RECV rcv got env "$env" "$group" recv "$3" "${size[@]}" "$V4_SND"
	fi
	reap "$SEND" 100
	rc_send=$?
	reap "$RECV" 60
	rc_recv=$?
	((rc_send == 124)) && stop "$SEND"
	((rc_recv == 124)) && stop "$RECV"
	report=$got
	if ((rc_send || rc_recv)); then
		fail "$name" "exit codes $rc_send, $rc_recv: $(cat "$sent" "$got" | tail -n 4)"
		return 1
	fi
}

# Engines with sanitizers are slow to take frames.
least=99 most=0
[[ $BUILD == */san ]] && least=90

in_place() { # NAME ROLE [VARIABLE]
	local direct kernel
	one_run "$1" "$2" $ENGINES "${3:-}" || return
	direct=$(field direct) kernel=$(field kernel)
	if (($(field complete) != CONNS || $(field broken))); then
		fail "$1" "not all came: $(cat "$report")"
	elif (($(field lost))); then
		fail "$1" "frames lost before AF_XDP: $(cat "$report")"
	elif (($(field astray) > most || $(field idle))); then
		fail "$1" "not on the engines of their queues: $(cat "$report")"
	elif ((direct * 100 < (direct + kernel) * least && ! $(field stalled))); then
		fail "$1" "not direct: $(cat "$report")"
	else
		pass "$1"
	fi
}

in_place "64 connections come to 4 engines" responder
in_place "64 connections of 4 engines" initiator
# Each is made twice (RFC 6581 section 10). That peer sends at once, so a few streams may be over before their engines
# look; three quarters came to other queues when engines took the first port.
least=80 most=$((CONNS / 8)) in_place "64 connections to a peer without RFC 6581" initiator OLD=1
# The region is freed while all engines place octets in it: they place no more, and the streams end.
freed() {
	local name="a region is freed"
	one_run "$name" responder $ENGINES FREE=2 || return
	if (($(field complete) == CONNS || $(field idle))); then
		fail "$name" "too late, or not in all engines: $(cat "$report")"
	elif (($(field cut "$TMP/sent") + $(field complete) < CONNS)); then
		fail "$name" "streams went on: $(cat "$report" "$TMP/sent")"
	else
		pass "$name" "($(field complete) streams were complete)"
	fi
}
freed

# 20,000 SYNs that nobody stands behind come meanwhile. Connections may be on any engine then, but all come.
syns() {
	local mac
	mac=$(in_ns rcv ip -o link show "$IF_RCV" | sed 's/.*link\/ether \([0-9a-f:]*\).*/\1/')
	spawn SYNS snd syns "$BUILD/tests/net/conn/group_syns" "$IF_SND" "$mac" 10.77.0.100 \
		"$V4_RCV" 15077 20000
	sleep 1
}
flooded() {
	local name="64 connections come in a flood of SYNs" before=syns rc
	one_run "$name" responder $ENGINES
	rc=$?
	reap "$SYNS" 60 || { fail "$name" "no flood: $(cat "$TMP/syns")"; return; }
	((rc)) && return
	if (($(field complete) != CONNS || $(field broken))); then
		fail "$name" "not all came: $(cat "$report")"
	else
		pass "$name"
	fi
}
flooded

# An engine is destroyed while 64 streams come. Only its own connections end, and all that come later are served.
an_engine_ends() {
	local name="an engine ends" group=$BUILD/tests/net/conn/group got=$TMP/got sent=$TMP/sent
	local rc first direct kernel
	spawn RECV rcv got env LEAVE=4 "$group" recv $ENGINES $((10 * CONNS)) "$OCTETS"
	wait_listen rcv 15077 20
	in_ns snd timeout 100 "$group" send "$V4_RCV" $CONNS "$OCTETS" >"$sent" 2>&1
	rc=$? first=$(field cut "$sent")
	if ((rc || first == 0 || first > CONNS * 3 / 4)); then
		fail "$name" "exit code $rc, $first connections ended: $(tail -n 3 "$sent" "$got")"
		stop "$RECV"
		return
	fi
	for i in 1 2 3; do
		in_ns snd timeout 100 "$group" send "$V4_RCV" $CONNS "$OCTETS" >"$sent" 2>&1
		rc=$?
		((rc || $(field cut "$sent"))) && break
	done
	stop "$RECV"
	report=$got direct=$(field direct) kernel=$(field kernel)
	if ((rc || $(field cut "$sent"))); then
		fail "$name" "later connections, exit code $rc: $(tail -n 3 "$sent" "$got")"
	elif (($(field complete) < 4 * CONNS - first)); then
		fail "$name" "$first cut, and not all others complete: $(cat "$got")"
	else
		pass "$name" "($first connections, $((direct * 100 / (direct + kernel))) % direct)"
	fi
}
an_engine_ends
in_ns rcv "$BUILD/xiwarp" unload "$IF_RCV" --force >/dev/null
finish
