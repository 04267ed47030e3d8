#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# A peer written from the RFCs alone, on both paths. Against `xiwarp sink` (peer.c): each choice of Markers and CRCs,
# FPDUs of every shape, and every error of RFC 5041 section 7.2. Against an application (peer_ulp.c, peer_recv.c):
# what the
# application is told of messages, errors and half-closes. timeout: 120
. "${0%/*}/../lib/lib.sh"

tests=$BUILD/tests/net
from=20000

# sink PATH FLAGS STAG OPTION...: runs every case of peer.c against such a sink. With $wrap, its queues begin with that
# MSN.
sink() {
	local sink pid rc path=$1 flags=$2 stag=$3
	local command=("$BUILD/xiwarp")
	[[ -n ${wrap:-} ]] && command=("$tests/peer/peer_wrap" "$wrap")
	shift 3
	rm -f "$TMP/json" "$TMP/out"
	# shellcheck disable=SC2016
	spawn sink rcv sink sh -c 'exec "$@" >"$0"' "$TMP/json" "${command[@]}" sink \
		--path "$path" --json --size 16M --stag "$stag" --out "$TMP/out" "$@"
	if ! wait_listen rcv 15044; then
		fail "$path-$flags-$stag" "nobody listens: $(cat "$TMP/sink")"
		stop "$sink"
		return
	fi
	spawn pid snd cases "$tests/peer/peer" "$V4_RCV" 15044 "$path" "$flags" "$stag" \
		"$TMP/json" "$TMP/out" $from ${wrap:-}
	reap "$pid" 30
	rc=$?
	((rc == 124)) && stop "$pid"
	((from += 100))
	cat "$TMP/cases"
	grep -h "^PASS .*-split-at-every-octet" "$TMP/cases" >>"$TMP/split"
	((rc > 1)) && fail "$path-$flags-$stag" "the peer: exit code $rc"
	((rc == 1)) && ((_failures++))
	stop "$sink" INT
	rc=$?
	((rc == 130)) || fail "$path-$flags-$stag-lives" "exit code $rc: $(cat "$TMP/sink")"
}

sinks() {
	sink "$1" c 0x1234
	sink "$1" mc 0x1234 --markers
	sink "$1" - 0x1234 --crc off
	sink "$1" m 0x1234 --markers --crc off
	sink "$1" c 0
	sink "$1" c 0xffffffff
	wrap=0xfffffff8 sink "$1" c 0x1234
}

wire_up plain
administrator "crc optional"
# TCP gives up a silent peer after a second and a half (tcp(7)). No segment is lost here otherwise.
set_sysctl rcv net.ipv4.tcp_retries2 2
# A bad CRC becomes an error after some retransmissions: a short RTO makes that soon.
in_ns snd ip route replace 10.77.0.0/24 dev "$IF_SND" src "$V4_SND" rto_min 5ms ||
	fail rto_min "exit code $?"
load_patient rcv || fail load "exit code $?"
for path in kernel direct; do
	[[ -n ${CASE:-} ]] || sinks $path
	cases peer_ulp peer_recv $path
done
# With and without Markers.
[[ -n ${CASE:-} ]] || expect split-at-every-octet [ "$(wc -l <"$TMP/split")" = 4 ]
in_ns rcv "$BUILD/xiwarp" unload "$IF_RCV" >/dev/null || fail unload "exit code $?"
finish
