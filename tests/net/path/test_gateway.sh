#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 120
#
# A gateway sends from another address on the link than the one at which it takes frames, as two that share an address
# do. Acknowledgements of the engine go where the kernel sends the socket's own frames, also when that changes while
# the socket has nothing to send: no acknowledgement is lost for so long that the peer's time-out comes.

. "${0%/*}/../lib/lib.sh"
. "${0%/*}/../lib/counts.sh"

progs=$_bpffs/xiw-wire-$$ # lib.sh removes it

# takes N: from now on frames must go to the N-th address. knows IP N: to rcv, it is that of IP.
takes() {
	in_ns snd tc filter replace dev "$IF_SND" ingress prio 1 handle 1 bpf da \
		pinned "$progs/gateway_$1"
}
knows() {
	in_ns rcv ip neigh replace "$1" lladdr "00:00:5e:00:01:0$2" dev "$IF_RCV" nud permanent
}
# The next hop gets the N-th address.
gateway() {
	takes "$1" && knows "$V4_SND" "$1"
}
# The route gets another next hop, with the N-th address.
route() {
	knows 10.77.0.9 "$1" && takes "$1" &&
		in_ns rcv ip route replace "$V4_SND" via 10.77.0.9 dev "$IF_RCV"
}

beyond() {
	(($(octets_direct) > $1))
}

# transfer NAME MOST_TIMEOUTS [CMD...]: CMD is run while octets come direct, and they go on coming direct.
transfer() {
	local name=$1 octets=$((4 << 20)) most=$2 rc_sink rc_send before after direct kernel
	shift 2
	rm -f "$TMP/enough"
	before=$(timeouts)
	spawn SINK rcv json "$BUILD/xiwarp" sink --stag 0x1234 --size "$octets" --once --json \
		--listen "$V4_RCV:15046" --out "$TMP/got"
	wait_listen rcv 15046 || { fail "$name" "nobody listens: $(cat "$TMP/json")"; return; }
	spawn SEND snd sent "$BUILD/tests/net/lib/sendto" -t "$octets" -o "$TMP/sent-octets" \
		-w "$TMP/enough" "$V4_RCV" 15046
	wait_until 20 beyond 1000000 || fail "$name" "nothing direct"
	if (($#)); then
		# A path that has carried for a second may fail once without being given up.
		sleep 1.5
		wait_until 20 beyond $(($(octets_direct) + octets)) || fail "$name" "ends early"
		"$@" || fail "$name" "$*"
		wait_until 20 beyond $(($(octets_direct) + 4 * octets)) ||
			fail "$name" "no more direct"
	fi
	touch "$TMP/enough"
	reap "$SEND" 60
	rc_send=$?
	((rc_send)) && stop "$SEND"
	reap "$SINK" 10
	rc_sink=$?
	((rc_sink)) && stop "$SINK"
	after=$(timeouts)
	direct=$(field octets_direct) kernel=$(field octets_kernel)
	if ((rc_send || rc_sink)); then
		fail "$name" "exit codes $rc_send, $rc_sink: $(cat "$TMP/sent" "$TMP/json")"
	elif ! cmp -s "$TMP/got" "$TMP/sent-octets"; then
		fail "$name" "octets differ"
	elif ((after - before > most)); then
		fail "$name" "$((after - before)) retransmission time-outs: $(cat "$TMP/json")"
	elif ((direct < 9 * kernel)); then
		fail "$name" "$kernel of $((direct + kernel)) octets not direct: $(cat "$TMP/json")"
	elif grep -q 'acknowledgements not heard' "$TMP/json"; then
		fail "$name" "a stretch has ended: $(cat "$TMP/json")"
	elif [[ -n $(field no_direct) ]]; then
		fail "$name" "$(cat "$TMP/json")"
	else
		pass "$name"
	fi
}

wire_up plain 1500 || exit 1
wire_clamp 131072
bpftool prog loadall "$BUILD/tests/net/path/progress.bpf.o" "$progs" || exit 1
in_ns snd tc qdisc add dev "$IF_SND" clsact
for mode in native generic; do
	load_patient rcv --mode $mode || fail $mode "exit code $?"
	gateway 1 || exit 1
	rto_min 3000
	transfer "$mode" 0
	transfer "$mode, the address changes" 0 gateway 2
	transfer "$mode, the route changes" 0 route 1
	in_ns rcv ip route del "$V4_SND"
	in_ns rcv "$BUILD/xiwarp" unload "$IF_RCV" >/dev/null
done
finish
