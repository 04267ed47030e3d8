#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 120
#
# Segments out of order on the direct path (RFC 5044 section 6, RFC 5041 section 5.3): one segment is held back on the
# wire. With markers, later segments are in the buffer before the gap closes; without, they are not. Either way the
# message is delivered once, in its turn, and unchanged.
# Other faults of the wire: segments that come twice, damaged, or only when they are sent again.

. "${0%/*}/../lib/lib.sh"

# Messages of one segment each, because the sender's kernel would pass several segments to TC as one packet.
LEN=$((64 << 10))
pins=/sys/fs/bpf/xiw-hold-$$
report=$TMP/out acts=0

# wire [NTH DAMAGE DOUBLED LOSS UNTIL]: how data segments of the sender are treated from now on (hold.bpf.c). While one
# is held, the sender's retransmission time-out is long.
wire() {
	in_ns snd ip route change 10.77.0.0/24 dev "$IF_SND" src $V4_SND rto_min \
		$((${1:-0} ? 1000 : 200))ms
	# shellcheck disable=SC2046
	bpftool map update pinned "$pins/hold" key 0 0 0 0 value $(_u32 "${1:-0}") \
		$(_u32 "${2:-0}") $(_u32 "${3:-0}") $(_u32 "${4:-0}") 0 0 0 0 0 0 0 0 0 0 0 0 0 0 \
		0 0 0 0 0 0 $(_u32 "${5:-0}")
}

# Releases the held segment. Leaves in $acts how many segments were affected.
let_go() {
	acts=$(acted)
	wire
}

# How many segments were held, damaged, doubled or lost.
acted() {
	bpftool -j map dump pinned "$pins/hold" | sed 's/.*"acted":\([0-9]*\).*/\1/'
}

# Segments behind the gap have arrived: the sender's TCP has SACK blocks for them.
came_behind() {
	in_ns snd ss -Htin "dport = :15046" | grep -q 'sacked:[1-9]'
}

# one_run NAME during|after OPTION...: releases the segment when others have arrived behind the gap, or at the end.
one_run() {
	local name=$1 when=$2 recv send rc came=true
	shift 2
	spawn recv rcv log sh \
		-c "exec '$BUILD/tests/net/path/order' $* $LEN >'$TMP/out' 2>'$TMP/content'"
	wait_listen rcv 15046 5
	spawn send snd send "$BUILD/tests/net/lib/sendto" -t $LEN -l 4096-4096 -o "$TMP/want" \
		"$V4_RCV" 15046
	if [[ $when == during ]]; then
		wait_until 20 came_behind || came=false
		sleep 0.2 # for what should not be placed
		cp "$TMP/out" "$TMP/during"
		let_go
	fi
	reap "$send" 30
	rc=$?
	reap "$recv" 20 || rc=1
	[[ $when == during ]] || let_go
	if ! $came; then
		fail "$name" "nothing came behind the gap:" \
			"$(cat "$TMP/send" "$TMP/log" | head -c 600)"
		return 1
	fi
	if ((rc)) || ! cmp -s "$TMP/want" "$TMP/content"; then
		fail "$name" "exit code $rc, or wrong content:" \
			"$(cat "$TMP/send" "$TMP/log" "$TMP/out" | head -c 600)"
		return 1
	fi
	if (($(field messages) != LEN / 4096 || $(field mpa_error))); then
		fail "$name" "$(cat "$TMP/out")"
		return 1
	fi
}

wire_up plain 1500 || exit 1
load_patient rcv || exit 1
mkdir "$pins" && at_end rm -rf "$pins"
# TCP passes single segments to TC, so that a fault affects one segment only.
bpftool prog loadall "$BUILD/tests/net/lib/hold.bpf.o" "$pins" pinmaps "$pins" &&
	in_ns snd ip link set "$IF_SND" gso_max_segs 1 &&
	in_ns snd tc qdisc add dev "$IF_SND" clsact &&
	in_ns snd tc filter add dev "$IF_SND" egress bpf da pinned "$pins/hold_back" &&
	in_ns snd tc filter add dev "$IF_SND" ingress bpf da pinned "$pins/hold_acks" || exit 1

name="with markers, placed before the gap closes, delivered in order"
wire 4 0 0 0 9
if one_run "$name" during -m; then
	if grep -q '^early .*holes' "$TMP/during" && (($(field fpdus_early) >= 3)); then
		pass "$name ($(field fpdus_early) FPDUs early)"
	else
		fail "$name" "nothing early: $(cat "$TMP/during" "$TMP/out")"
	fi
fi
name="without markers, nothing is placed early"
wire 4 0 0 0 9
if one_run "$name" during; then
	if [[ ! -s $TMP/during ]] && (($(field fpdus_early) == 0 && $(field early) == 0)); then
		pass "$name"
	else
		fail "$name" "$(cat "$TMP/during" "$TMP/out")"
	fi
fi
# RFC 5041 section 3: TCP passes no octet twice.
name=duplicates
wire 0 0 1
if one_run "$name" after; then
	if ((acts >= LEN / 2048 && $(field octets_direct) >= LEN / 2)); then
		pass "$name ($acts segments came twice)"
	else
		fail "$name" "$acts segments doubled: $(cat "$TMP/out")"
	fi
fi

# RFC 5044 section 7.1.5: TCP recovers, whichever side has it.
loss_at_the_hand_off() {
	local name=loss-at-the-hand-off recv send rc got=$TMP/got
	wire 0 0 0 $((0x100000000 / 200))
	spawn recv rcv got "$BUILD/tests/net/path/alt" -b 64 -t 40 -d recv
	wait_listen rcv 15045 5
	spawn send snd sent "$BUILD/tests/net/path/alt" -b 64 -t 40 send "$V4_RCV"
	reap "$send" 40
	rc=$?
	reap "$recv" 10 || rc=1
	let_go
	report=$got
	if ((rc)); then
		stop "$send"
		stop "$recv"
		fail "$name" "exit code $rc: $(cat "$TMP/sent" "$got" | head -c 900)"
	elif (($(field octets) != 64 << 20 || $(field went_direct) < 15 ||
		$(field went_kernel) < 15 || acts < 50)); then
		fail "$name" "$acts segments lost: $(cat "$got")"
	else
		pass "$name" "($acts segments lost, $(field went_direct) to direct," \
			"$(field went_kernel) to kernel)"
	fi
	report=$TMP/out
}
loss_at_the_hand_off

# small NAME during|after SEGMENTS RECEIVER-OPTIONS SENDER-OPTION...: six small FPDUs in each segment, see order.c
small() {
	local name=$1 when=$2 size=$(($3 * 6 * 192)) segments=$3 options=$4 recv send missed=
	shift 4
	# shellcheck disable=SC2086,SC2016
	spawn recv rcv log sh -c 'exec "$0" "$@" 2>"$CONTENT"' "$BUILD/tests/net/path/order" \
		$options "$size"
	wait_listen rcv 15046 5
	spawn send snd send "$BUILD/tests/net/path/order" -n "$segments" "$@" -o "$TMP/want" send \
		"$V4_RCV"
	if [[ $when == during ]]; then
		wait_until 20 map_is_right "$report"
		sleep 0.2 # for what should not be placed
		cp "$report" "$TMP/during"
		if [[ -n ${again:-} ]]; then
			kill -USR1 "$recv"
			wait_until 10 grep -q '^again' "$report" ||
				missed="not registered again, "
		fi
		let_go
	fi
	reap "$send" 30
	rc_send=$?
	reap "$recv" 20
	rc_recv=$?
	[[ $when == during ]] || let_go
	((rc_send == 0 && rc_recv == 0)) && [[ -z $missed ]] && return
	stop "$send"
	stop "$recv"
	fail "$name" "${missed}exit codes $rc_send, $rc_recv:" \
		"$(cat "$TMP/send" "$report" | head -c 900)"
	return 1
}

# The octets in place while the segment was held are exactly those that RFC 5044 section 6 allows.
map_is_right() { # [FILE]
	local want
	want=$(grep '^map' "$TMP/send") &&
		[[ $(grep '^map' "${1:-$TMP/during}" | tail -n 1) == "$want" ]]
}

content_is_right() {
	local messages
	messages=$(awk '/^messages/ { print $2 }' "$TMP/send")
	cmp -s "$TMP/want" "$TMP/content" &&
		((messages && $(field messages) == messages && $(field mpa_error) == 0))
}

told() {
	cat "$TMP/during" "$TMP/send" "$report" | head -c 1200
}

export CONTENT=$TMP/content
report=$TMP/log

name=several-behind-a-marker
wire 5 0 0 0 12
if small "$name" during 12 -m -H 5; then
	read -r _ marked _ behind < <(grep '^marked' "$TMP/send" | tr -d ,)
	if map_is_right && content_is_right &&
		((behind >= 7 && $(field fpdus_early) == marked + behind)); then
		pass "$name ($marked with a Marker, $behind by length)"
	else
		fail "$name" "$(told)"
	fi
fi

# The application invalidates the STag and registers other memory with it while the gap is open: octets that are in the
# old memory are placed again in the new one.
name=early-and-registered-again again=yes
wire 5 0 0 0 12
if small "$name" during 12 -m -H 5; then
	if map_is_right && content_is_right; then
		pass "$name"
	else
		fail "$name" "$(told)"
	fi
fi
again=

name=early-bad-crc
wire 5 8 0 0 12
if small "$name" during 12 -m -H 5; then
	if map_is_right && content_is_right && (($(field crc_errors) == 1)); then
		pass "$name"
	else
		fail "$name" "$(told)"
	fi
fi

# A peer that tries STags behind a gap does so once: what it sends with the right one afterwards is not placed early. In
# its turn the wrong one ends the stream.
name=a-wrong-stag-ends-early-placement
wire 5 0 0 0 12
if small "$name" during 12 -m -H 5 -G 8; then
	if map_is_right && (($(field early_refused) == 1 && $(field ddp_error) == 0x100 &&
		$(field messages) == 7)) &&
		(($(tail -c +$((7 * 6 * 192 + 1)) "$CONTENT" | tr -d '\0' | wc -c) == 0)); then
		pass "$name"
	else
		fail "$name" "$(told)"
	fi
fi

# The place where the sequence number wraps moves through the eighth segment: behind an FPDU's start, before its
# Marker, ...
marker_behind_the_wrap() {
	local name=marker-behind-the-wrap at
	for at in 100 400 700 1000; do
		wire 5 0 0 0 12
		small "$name" during 12 -m -H 5 -i $((0x100000000 - 21 - 7 * 1284 - at)) || return
		if ! map_is_right || ! content_is_right; then
			fail "$name" "$at: $(told)"
			return
		fi
	done
	pass "$name"
}
marker_behind_the_wrap

name=marker-disagrees-when-the-gap-closes
wire 5 0 0 0 12
if small "$name" during 12 -m -H 5 -W 8; then
	if map_is_right && (($(field mpa_error) == 3 && $(field messages) == 7)); then
		pass "$name"
	else
		fail "$name" "$(told)"
	fi
fi

# One segment of 25 is lost, and its retransmission comes behind others.
name=delivered-in-order-mixed
wire 0 0 0 $((0x100000000 / 25))
if small "$name" after 400 "-m -x" -x; then
	if content_is_right &&
		(($(field fpdus_early) > 20 && $(field octets_direct) > 300000)); then
		pass "$name ($acts segments lost, $(field fpdus_early) of 2400 FPDUs early)"
	else
		fail "$name" "$acts lost: $(told)"
	fi
fi

in_ns rcv "$BUILD/xiwarp" unload "$IF_RCV" --force >/dev/null
finish
