#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 240
#
# The relay of the fault matrix: by itself, with constructed segments, and between two kernels' TCP.

. "${0%/*}/lib.sh"

# sum NAME JSON: of all counts of that name.
sum() {
	local n=0 v
	for v in $(grep -o "\"$1\":[0-9]*" <<<"$2"); do
		((n += ${v##*:}))
	done
	echo $n
}

# transfer ADDRESS MIB: by plain TCP, compared; its retransmissions are left in $retransmitted.
transfer() {
	local listener sender before rc
	spawn listener rcv out "$BUILD/tests/net/lib/tcpcat" -l 4000
	wait_listen rcv 4000 || return 1
	before=$(retransmissions)
	spawn sender snd sender sh -c "exec '$BUILD/tests/net/lib/tcpcat' $1 4000 <'$TMP/in'"
	reap "$sender" 100
	rc=$?
	((rc == 124)) && stop "$sender"
	reap "$listener" 20 || rc=1
	retransmitted=$(($(retransmissions) - before))
	((rc == 0)) && cmp "$TMP/in" "$TMP/out"
}

retransmissions() {
	in_ns snd cat /proc/net/snmp | awk '/^Tcp:/ { n = $13 } END { print n }'
}

# through NAME ADDRESS COUNT... -- OPTION...: a transfer through the relay, after which none of its counts is 0.
through() {
	local name=$1 address=$2 counts=() relay stats c why=
	shift 2
	while [[ $1 != -- ]]; do
		counts+=("$1")
		shift
	done
	shift
	relay_start relay "$@" || { fail "$name" "no relay"; return; }
	transfer "$address" || why="the stream did not arrive as it was sent"
	stats=$(relay_stop "$relay")
	for c in "${counts[@]}"; do
		(($(sum "$c" "$stats"))) || why+=" $c is 0"
	done
	# Without an impairment nothing is drawn: the digest of the draws stays 0.
	local none='"digest":"0000000000000000"'
	[[ $name == transparent* && $stats != *"$none"*"$none"* ]] &&
		why+=" something was impaired"
	if [[ -n $why ]]; then
		fail "$name" "$why: $stats"
	else
		pass "$name ($retransmitted retransmissions)"
	fi
}

"$BUILD/tests/net/lib/relay_check" || fail core "exit code $?"

wire_up relay 1500
wire_clamp 196608
for side in snd rcv; do
	set_sysctl $side net.ipv4.tcp_ecn 1
done
random_file "$TMP/in" 24
none() {
	! in_ns snd ping -c 1 -W 1 $V4_RCV
}
expect nothing-passes-without-it none
through transparent-v4 $V4_RCV packets -- -s 1
through transparent-v6 $V6_RCV packets -- -s 1
through loss $V4_RCV lost -- -f loss=1 -r ack-loss=20
((retransmitted)) || fail loss-seen "nothing was sent again"
through duplicate $V6_RCV duplicated -- -f dup=3 -r ack-dup=3
through reorder $V4_RCV reordered -- -f reorder=2:6 -r ack-reorder=2
through corrupt $V6_RCV corrupted corrupted_header -- -f corrupt=0.5,corrupt-header=0.5 \
	-r ack-corrupt-header=0.5
((retransmitted)) || fail corrupt-seen "nothing was sent again"
through resegment $V4_RCV split merged pieces -- -f split=20,merge=20:6
through delay $V6_RCV packets -- -f delay=2:1 -r delay=2:1
# A window that the sender can fill while the window's edge does not move.
set_sysctl rcv net.ipv4.tcp_rmem "4096 65536 65536"
through squeeze $V4_RCV squeezes windows_squeezed windows_closed -- -r squeeze=2:100:10
through ce $V4_RCV ce_marked -- -f ce=1
random_file "$TMP/in" 4
through all $V6_RCV lost reordered duplicated corrupted split merged -- \
	-f loss=1,reorder=1,dup=1,corrupt=0.5,split=2,merge=2,delay=1:1 \
	-r ack-loss=2,squeeze=1,delay=1

# Segments whose checksum the receiver's TCP found wrong.
noticed() {
	in_ns rcv cat /proc/net/snmp | awk '/^Tcp:/ { n = $NF } END { print n }'
}

# Damage with a correct checksum passes TCP, which is why MPA has CRC32c.
before=$(noticed)
relay_start relay -f corrupt-fixed=1 && ! transfer $V4_RCV >"$TMP/differs" &&
	grep -q differ "$TMP/differs"
rc=$?
stats=$(relay_stop "$relay")
if ((rc == 0 && $(sum corrupted_fixed "$stats") && $(noticed) == before)); then
	pass corrupt-fixed
else
	fail corrupt-fixed "$(noticed) noticed, not $before, $(<"$TMP/differs") $stats"
fi

# The statistics while it runs.
relay_start relay && in_ns snd ping -q -c 1 $V4_RCV >/dev/null
stats=$(relay_stats "$relay")
expect stats-on-request test "$(sum packets "$stats")" -gt 0
relay_stop "$relay" >/dev/null
finish
