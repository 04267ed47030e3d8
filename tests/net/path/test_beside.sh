#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 120
#
# Other people's programs of tc and tcx beside xiw_egress, attached before it and while a connection is direct. As
# xiw_egress is the first of tcx, they end no connection, whatever they return. It becomes so again if it is not.

. "${0%/*}/../lib/lib.sh"
. "${0%/*}/../lib/counts.sh"
. "${0%/*}/../lib/pings.sh"

if ! kernel_has 6 6; then
	skip tcx "needs Linux 6.6"
	finish
	exit
fi
tcx=$BUILD/tests/net/lib/tcx
progs=$_bpffs/xiw-wire-$$ # lib.sh removes it
caps=+net_admin,+net_raw,+ipc_lock,+dac_override
service=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps "$caps")
service+=(--ambient-caps "$caps")

wire_up plain 1500 || exit 1
bpftool prog loadall "$BUILD/tests/net/path/progress.bpf.o" "$progs" || exit 1

# Those who were there first.
in_ns rcv tc qdisc add dev "$IF_RCV" clsact
filter() {
	in_ns rcv tc filter "$1" dev "$IF_RCV" egress prio 1 ${2:+bpf da pinned "$progs/ahead"}
}
expect before-tc filter add ahead
expect before-tcx in_ns rcv "$tcx" last "$IF_RCV" "$progs/ahead"
load_patient rcv || fail load "exit code $?"
pings there-before "0 0" 1500000 true
expect tcx-off in_ns rcv "$tcx" off "$IF_RCV" "$progs/ahead"
expect tc-off filter del

# Those who come while it is direct.
pings tc-in-front "0 0" 1500000 filter add ahead
pings tcx-behind "0 0" 1500000 in_ns rcv "$tcx" last "$IF_RCV" "$progs/ahead"
pings tcx-in-front-that-goes-on "0 0" 1500000 in_ns rcv "$tcx" first "$IF_RCV" "$progs/beside"
expect tcx-behind-off in_ns rcv "$tcx" off "$IF_RCV" "$progs/ahead"
# This one hides segments, as it is in front, until the engine has put xiw_egress there again.
is_first() { [[ $(in_ns rcv "$tcx" list "$IF_RCV" | head -n 1) == "$1" ]]; }
expect tcx-is-first is_first beside
in_ns rcv "$BUILD/xiwarp" status "$IF_RCV" >"$TMP/status"
expect tcx-status-says grep -Eq 'tcx runs beside \(id [0-9]+\) before xiw_egress' "$TMP/status"
pings tcx-in-front-that-ends "0 0" 1500000 in_ns rcv "$tcx" first "$IF_RCV" "$progs/ahead"
expect tcx-in-front-no-more is_first xiw_egress
pings tcx-in-front-again "0 0" 1500000 true
expect tcx-in-front-off in_ns rcv "$tcx" off "$IF_RCV" "$progs/ahead"
# A receiver that has given up the right to replace pins tells both ends.
as=("${service[@]}")
pings tcx-in-front-user "7 7" 1000 in_ns rcv "$tcx" first "$IF_RCV" "$progs/ahead"
as=()
if [[ $(field no_direct) == *"a program before xiw_egress in tcx"*"(xiwarp load)"* ]]; then
	pass tcx-in-front-user-says
else
	fail tcx-in-front-user-says "$(cat "$TMP/json")"
fi
refused tcx-in-front-load 5 "is so again" "$BUILD/xiwarp" load "$IF_RCV"
expect tcx-in-front-loaded is_first xiw_egress
refused tcx-in-front-loaded-already 5 "nothing to do" "$BUILD/xiwarp" load "$IF_RCV"
in_ns rcv "$BUILD/xiwarp" status "$IF_RCV" >"$TMP/status"
expect tcx-status-says-no-more sh -c "! grep 'before xiw_egress' '$TMP/status'"
expect tcx-in-front-user-off in_ns rcv "$tcx" off "$IF_RCV" "$progs/ahead"
# The peer closes while the socket's segments are hidden: what has been hidden is sent again, our FIN too.
close_behind() { # CODE...: of the sink and of its peer
	spawn sink rcv json "${as[@]}" "$BUILD/xiwarp" sink --once --stag 0x1234 --size 1M \
		--json --listen "$V4_RCV:15048"
	wait_listen rcv 15048 || fail close-behind-tcx "nobody listens: $(cat "$TMP/json")"
	spawn sender snd sent "$BUILD/tests/net/lib/sendto" -t 1048576 -w "$TMP/close" \
		"$V4_RCV" 15048
	wait_until 20 direct_by_now 64000000 || fail close-behind-tcx "never direct"
	expect close-behind-tcx-on in_ns rcv "$tcx" first "$IF_RCV" "$progs/ahead"
	touch "$TMP/close"
	reap "$sink" 20
	expect close-behind-tcx-sink test $? -eq "$1"
	reap "$sender" 20
	expect close-behind-tcx-sender test $? -eq "$2"
	rm "$TMP/close"
}
close_behind 0 0
expect close-behind-tcx-off in_ns rcv "$tcx" off "$IF_RCV" "$progs/ahead"
# Where they stay hidden, the peer refuses our FIN, whose acknowledgement is older than any window. Neither end takes
# that for an orderly end, or waits.
as=("${service[@]}")
close_behind 7 1
as=()
expect close-behind-tcx-says grep -q 'xiw_egress' "$TMP/json"
expect close-behind-tcx-reset grep -q 'reset by peer' "$TMP/sent"
expect close-behind-tcx-off in_ns rcv "$tcx" off "$IF_RCV" "$progs/ahead"
pings as-before "0 0" 1500000 true

# Nothing is left behind, and other people's qdiscs are no hindrance.
in_ns rcv "$BUILD/xiwarp" unload "$IF_RCV" >/dev/null || fail unload "exit code $?"
expect others-stay test "$(in_ns rcv "$tcx" list "$IF_RCV")" = beside
in_ns rcv tc qdisc del dev "$IF_RCV" clsact
in_ns rcv "$BUILD/xiwarp" load "$IF_RCV" >/dev/null || fail load "exit code $?"
expect ingress-beside in_ns rcv tc qdisc add dev "$IF_RCV" ingress
in_ns rcv "$BUILD/xiwarp" unload "$IF_RCV" >/dev/null || fail unload "exit code $?"
in_ns rcv tc qdisc del dev "$IF_RCV" ingress
expect clsact-free test -z "$(in_ns rcv tc qdisc show dev "$IF_RCV" clsact)"
finish
