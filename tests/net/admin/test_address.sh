#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Addresses as the commands show them: a link-local one with its zone, in reports, messages, status and traces. And a
# name that is not found, of the own host or of a peer. timeout: 60
. "${0%/*}/../lib/lib.sh"

xiwarp=$BUILD/xiwarp
server= peer=
local_of() { in_ns "$1" ip -6 -o addr show dev "$(_if "$1")" scope link |
	sed 's/.*inet6 \([^/]*\).*/\1/'; }

wire_up plain
rcv=$(local_of rcv) snd=$(local_of snd)
printf 'abc' >"$TMP/small"
in_ns rcv "$xiwarp" load "$IF_RCV" >/dev/null || fail load "exit code $?"

# ---- link-local addresses
spawn server rcv server.log sh -c 'exec "$@" >"$0"' "$TMP/server.json" \
	"$xiwarp" rping -s --json -a "$rcv%$IF_RCV" -p 15044
wait_listen rcv 15044 || fail listens "$(cat "$TMP/server.log")"
expect zone-listener grep -qF "on [$rcv%$IF_RCV]:15044" "$TMP/server.log"
spawn peer snd peer.log "$xiwarp" rping -c --json -a "$rcv%$IF_SND" -p 15044
# A flow is there when octets of the stream have come.
shown() { in_ns rcv "$xiwarp" status --json | grep -qF \
	"\"local\":\"[$rcv%$IF_RCV]:15044\",\"remote\":\"[$snd%$IF_RCV]:"; }
expect zone-status wait_until 10 shown
direct() { in_ns rcv "$xiwarp" status --json | grep -Eq '"skew":[1-9]'; }
expect zone-direct wait_until 10 direct
refused zone-unload 5 "1 connection on $IF_RCV needs" "$xiwarp" unload "$IF_RCV"
stop "$peer" INT
expect zone-client grep -qF "\"peer\":\"[$rcv%$IF_SND]:15044\"" "$TMP/peer.log"
reap "$server" 10
expect zone-server grep -qF "\"peer\":\"[$snd%$IF_RCV]:" "$TMP/server.json"
if [[ $BUILD == */san ]] || ! command -v rping >/dev/null; then
	skip zone-trace "rping is missing, or AddressSanitizer keeps others from preloading"
else
	in_ns snd "$xiwarp" run --trace -- rping -c -a "$rcv%$IF_SND" -C 1 >"$TMP/out" 2>&1
	expect zone-trace grep -Eq "rdma_resolve_addr\(.*\[$rcv%[0-9]+\]:" "$TMP/out"
fi

# ---- names. That of the own host is no matter of a peer
mkdir "$TMP/in"
for c in "serve $TMP/in" sink 'perf -s'; do
	# shellcheck disable=SC2086
	refused "listen-nowhere-${c%% *}" 1 "cannot resolve 'nosuch.invalid'" "$xiwarp" $c \
		--listen nosuch.invalid
done
refused put-nowhere 7 "cannot resolve 'nosuch.invalid'" "$xiwarp" put "$TMP/small" nosuch.invalid
finish
