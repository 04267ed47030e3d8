#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# MPA startup, both roles, immediate and delayed (RFC 5044 section 7, RFC 6581): the library against a peer of plain
# sockets (startup.c), on the kernel path and with the programs loaded. timeout: 120
. "${0%/*}/../lib/lib.sh"


# frame Req|Rep FLAGS REV [PRIVATE-DATA]: as hex.
frame() {
	local pd=${4-}
	printf 'MPA ID %s Frame' "$1" | od -An -v -tx1 | tr -d ' \n'
	printf '%s%s%04x%s' "$2" "$3" $((${#pd} / 2)) "$pd"
}

# sink NAME OPTIONS REQUEST REPLY CODE JSON: the command with these options; what the Reply and the report are. If the
# Reply is empty, not one octet may come.
sink() {
	local pid rc got octets=$((${#4} / 2))
	# shellcheck disable=SC2086
	spawn pid rcv sink sh -c 'exec "$@" >"$0"' "$TMP/json" "$BUILD/xiwarp" sink --path kernel \
		--json --once $2
	wait_listen rcv 15044
	# shellcheck disable=SC2016
	got=$(in_ns snd timeout 5 bash -c 'exec 3<>"/dev/tcp/$0/15044" &&
		printf "$(sed "s/../\\\\x&/g" <<<"$1")" >&3 &&
		head -c "$2" <&3 | od -An -v -tx1 |
			tr -d " \n"' $V4_RCV "$3" $((octets ? octets : 1)) 2>/dev/null)
	reap "$pid" 5
	rc=$?
	((rc == 124)) && stop "$pid"
	if [[ $got == "$4" && $rc == "$5" ]] && grep -q "$6" "$TMP/json" "$TMP/sink"; then
		pass "$1"
	else
		fail "$1" "exit code $rc, Reply $got: $(cat "$TMP/json" "$TMP/sink")"
	fi
}

wire_up plain 1500
administrator "crc optional"
sink sink-rev-2 "" "$(frame Req 50 02 00080009)" "$(frame Rep 50 02 00000000)" 0 \
	'"revision":2,.*"enhanced":true,.*"peer_ird":8,"peer_ord":9'
sink sink-rev-1 "--rev 1" "$(frame Req 40 01 616263)" "$(frame Rep 40 01)" 0 \
	'"revision":1,"private_data":"616263","rejected":false,"enhanced":false'
sink sink-rev-2-refused "--rev 1" "$(frame Req 40 02)" "" 7 "MPA error 4"
sink sink-private-data "--private-data welcome" "$(frame Req 40 01)" \
	"$(frame Rep 40 01 77656c636f6d65)" 0 '"private_data":""'
sink sink-reject "--reject --private-data no" "$(frame Req 40 01 61)" "$(frame Rep 60 01 6e6f)" 0 \
	'"private_data":"61","rejected":true'
for rev in 00 03 ff; do
	sink sink-rev-$rev "" "$(frame Req 40 $rev)" "" 7 "MPA error 4"
done
for n in 0 1 511 512 513; do
	pd=$(printf "%$((2 * n))s" | tr ' ' 5)
	if ((n > 512)); then
		sink sink-private-data-$n "" "$(frame Req 40 01 "$pd")" "" 7 "MPA error 4"
	else
		sink sink-private-data-$n "" "$(frame Req 40 01 "$pd")" "$(frame Rep 40 01)" 0 \
			"\"private_data\":\"$pd\",\"rejected\":false"
	fi
done
sink sink-private-data-too-long "--private-data $(printf %509s | tr ' ' x)" \
	"$(frame Req 50 02 00010001)" "" 7 "not accepted: Invalid argument"
cases startup startup_end kernel
load_patient rcv || fail load "exit code $?"
cases startup startup_end direct
in_ns rcv "$BUILD/xiwarp" unload "$IF_RCV" >/dev/null || fail unload "exit code $?"
finish
