#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Connections of link-local addresses, whose sockets are bound to the interface. timeout: 60
. "${0%/*}/../lib/lib.sh"

xiwarp=$BUILD/xiwarp
server= peer=
local_of() { in_ns "$1" ip -6 -o addr show dev "$(_if "$1")" scope link |
	sed 's/.*inet6 \([^/]*\).*/\1/'; }

wire_up plain
rcv=$(local_of rcv)
in_ns rcv "$xiwarp" load "$IF_RCV" >/dev/null || fail load "exit code $?"

# ---- link-local addresses
spawn server rcv server.log sh -c 'exec "$@" >"$0"' "$TMP/server.json" \
	"$xiwarp" rping -s --json -a "$rcv%$IF_RCV" -p 15044
wait_listen rcv 15044 || fail listens "$(cat "$TMP/server.log")"
spawn peer snd peer.log "$xiwarp" rping -c --json -a "$rcv%$IF_SND" -p 15044
direct() { in_ns rcv "$xiwarp" status --json | grep -Eq '"skew":[1-9]'; }
expect zone-direct wait_until 10 direct
refused zone-unload 5 "1 connection on $IF_RCV needs" "$xiwarp" unload "$IF_RCV"
stop "$peer" INT
reap "$server" 10
finish
