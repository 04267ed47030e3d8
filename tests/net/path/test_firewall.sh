#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 240
#
# Firewalls on the receiver's host, as administrators write them: what the engine injects over lo passes each of them,
# so connections go direct. Segments are lost and cut anew, and the stream changes its path often, so that there are
# many injected segments. A firewall that drops them is told as the cause.
. "${0%/*}/../lib/lib.sh"
# shellcheck source=tests/net/lib/firewalls.sh
. "${0%/*}/../lib/firewalls.sh"

if ! command -v nft >/dev/null; then
	skip firewall "nft is not installed (tools/setup)"
	finish
fi

report=$TMP/got mib=8 seed=0
knobs=loss=1,reorder=1,split=5,merge=5

# across ADDRESS: returns 1 if the transfer failed; its report is in $report.
across() {
	local receiver sender relay rc=0
	relay_start relay -s $((++seed)) -f "$knobs" -r ack-loss=1 || return
	spawn receiver rcv got "$BUILD/tests/net/path/alt" -d -s $seed recv
	wait_listen rcv 15045
	spawn sender snd sent "$BUILD/tests/net/path/alt" -b $mib -t 40 -s $seed send "$1"
	reap "$sender" 60 || rc=1
	((rc)) && stop "$sender"
	reap "$receiver" 10 || rc=1
	((rc)) && stop "$receiver"
	relay_stop "$relay" >/dev/null
	((rc == 0 && $(field octets) == mib << 20))
}

# The table's text is on standard input.
rules() {
	in_ns rcv nft flush ruleset && in_ns rcv nft -f -
}

# passes NAME <RULES: direct over IPv4 and IPv6.
passes() {
	local name address
	rules || { fail "$1" "nft refuses the rules"; return; }
	for address in "$V4_RCV" "$V6_RCV"; do
		name=$1-v$([[ $address == *:* ]] && echo 6 || echo 4)
		if ! across "$address"; then
			fail "$name" "$(cat "$TMP/sent" "$TMP/got" | tail -n 4)"
		elif (($(field went_direct) < 10 || $(field injected) < 100)); then
			fail "$name" "hardly anything direct, or injected: $(<"$TMP/got")"
		elif [[ -n $(field no_direct) ]]; then
			fail "$name" "says $(field no_direct)"
		else
			pass "$name" "($(field octets_direct) octets direct," \
				"$(field injected) injected)"
		fi
	done
}

wire_up relay 1500
wire_clamp 196608
load_patient rcv || fail load "exit code $?"

for rules in "${firewalls[@]}"; do
	passes "$rules" < <(firewall "$rules" 15045)
done

# lo takes no packet of the wire's length: what is injected is lost, and the first such segment tells.
rules </dev/null
for address in "$V4_RCV" "$V6_RCV"; do
	in_ns rcv ip link set lo mtu 1400
	if ! across "$address"; then
		fail "small-lo $address" "$(cat "$TMP/sent" "$TMP/got" | tail -n 4)"
	elif ! grep -q "the MTU of lo is 1400, and that of $IF_RCV 1500: ip link" "$report"; then
		fail "small-lo $address" "the cause is not told: $(<"$TMP/got")"
	else
		pass "small-lo $address" "($(field octets_direct) octets direct)"
	fi
	in_ns rcv ip link set lo mtu 65536
	in_ns rcv "$BUILD/xiwarp" unload "$IF_RCV" --force >/dev/null
	load_patient rcv || fail load "exit code $?"
done

# One that nothing can pass.
rules <<'R'
table inet filter {
	chain input {
		type filter hook input priority filter; policy accept;
		iif lo tcp dport 15045 drop
	}
}
R
if ! across "$V4_RCV"; then
	fail nothing-over-lo "$(cat "$TMP/sent" "$TMP/got" | tail -n 4)"
elif (($(field octets_direct))) || [[ $(field no_direct) != *"ct state invalid"* ]]; then
	fail nothing-over-lo "direct, or the cause is not told: $(<"$TMP/got")"
else
	pass nothing-over-lo
fi
finish
