#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# A client that connects to an address of its own host: its packets go by lo, whichever interface has the address. One
# line says so, with programs on the interface and without, and nothing is to be done about it.
. "${0%/*}/../lib/lib.sh"

xiwarp=$BUILD/xiwarp

# put_here NAME ADDRESS [WORDS]: from the server's own namespace; the server's report has the words.
put_here() {
	local server rc
	spawn server rcv server "$xiwarp" serve --once --force --listen "$2" "$TMP/in"
	wait_listen rcv 15044 || { fail "$1" "$(cat "$TMP/server")"; return; }
	in_ns "${from:-rcv}" timeout 20 "$xiwarp" put "$TMP/file" "$2" >"$TMP/put" 2>&1
	rc=$?
	reap "$server" 10 || rc=$?
	if ((rc)) || ! grep -q "^file from .*${3:-both ends are on this host}" "$TMP/server"; then
		fail "$1" "exit code $rc: $(cat "$TMP/server" "$TMP/put")"
	else
		pass "$1"
	fi
}

wire_up plain || exit 1
mkdir "$TMP/in"
random_file "$TMP/file" 1
put_here bare "$V4_RCV"
in_ns rcv "$xiwarp" load "$IF_RCV" >/dev/null || exit 1
put_here loaded "$V4_RCV"
put_here loaded-v6 "[$V6_RCV]"
in_ns rcv ip address add 10.79.0.1/32 dev lo
put_here address-of-lo 10.79.0.1
from=snd put_here other-host "$V4_RCV" " [19][0-9]*\.[0-9]* % direct"
in_ns rcv "$xiwarp" unload "$IF_RCV" >/dev/null
finish
