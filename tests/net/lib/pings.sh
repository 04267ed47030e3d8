# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Sourced by tests that change the network under a connection. Needs lib.sh and counts.sh.
as=() # whom a server runs as

# pings NAME CODES DIRECT CMD...: CMD is run while a ping-pong is direct. At least DIRECT octets are direct in the end.
pings() {
	local name=$1 codes=$2 least=$3 server client rc_server rc_client
	shift 3
	spawn server rcv json "${as[@]}" "$BUILD/xiwarp" rping -s -a "$V4_RCV" -p 15047 -C 20000 \
		-S 64 --json
	wait_listen rcv 15047 || fail "$name" "nobody listens: $(cat "$TMP/json")"
	spawn client snd pings "$BUILD/xiwarp" rping -c -a "$V4_RCV" -p 15047 -C 20000 -S 64
	wait_until 10 direct_by_now || fail "$name" "never direct: $(cat "$TMP/json")"
	"$@" || fail "$name" "$*"
	reap "$client" 40
	rc_client=$?
	((rc_client == 124)) && stop "$client"
	reap "$server" 10
	rc_server=$?
	((rc_server == 124)) && stop "$server"
	if [[ "$rc_server $rc_client" != "$codes" ]]; then
		fail "$name" "exit codes $rc_server $rc_client: $(cat "$TMP/json" "$TMP/pings")"
	elif (($(field octets_direct) < least)); then
		fail "$name" "hardly direct: $(cat "$TMP/json")"
	else
		pass "$name"
	fi
}
