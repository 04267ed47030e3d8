#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# `xiwarp sink`, option by option, against a sender that uses the library (sendto.c): every octet is compared, on both
# paths, over IPv4 and IPv6, with markers, without CRCs, at MTU 1500 and 9000. timeout: 240
. "${0%/*}/../lib/lib.sh"

xiwarp=$BUILD/xiwarp tests=$BUILD/tests/net
mib=1048576
mixed=(-t $((6 * mib)) -l 1-100000 -u 40)
sink=

# open_sink ADDRESS OPTION...: listens on it, STag 0x1234.
open_sink() {
	local address=$1
	shift
	[[ $address == *:* ]] && address="[$address]"
	spawn sink rcv sink sh \
		-c "exec '$xiwarp' sink --json --stag 0x1234 --listen '$address' $* >'$TMP/json'"
	wait_listen rcv 15044 && return
	echo "nobody listens: $(cat "$TMP/sink")"
	return 1
}

# send NAME ADDRESS OPTION...: returns sendto's exit code.
send() {
	local pid address=$2 log=send-$1 rc
	shift 2
	spawn pid snd "$log" "$tests/lib/sendto" "$@" "$address" 15044
	reap "$pid" 30
	rc=$?
	((rc)) && cat "$TMP/$log"
	return "$rc"
}

# ended CODE: the sink has ended, with that exit code and one line.
ended() {
	local rc
	reap "$sink" 10
	rc=$?
	((rc == 124)) && stop "$sink"
	if ((rc != $1)) || (($(wc -l <"$TMP/json") != 1)); then
		echo "exit code $rc, not $1; $(cat "$TMP/json" "$TMP/sink")"
		return 1
	fi
}

# is KEY VALUE...: in the report.
is() {
	while (($#)); do
		if [[ $(field "$1") != "$2" ]]; then
			echo "$1 is '$(field "$1")', not '$2': $(cat "$TMP/json")"
			return 1
		fi
		shift 2
	done
}

# sent_is_received: the sink reports as received what the sender reports as sent.
sent_is_received() {
	local key
	for key in tagged_messages tagged_octets untagged_messages untagged_octets; do
		is "$key" "$(sed -n "s/.*\"$key\":\([0-9]*\).*/\1/p" "$TMP/send-$1")" || return
	done
	is messages $(($(field tagged_messages) + $(field untagged_messages)))
}

by_path() {
	local all=$(($(field octets_direct) + $(field octets_kernel)))
	if (($(field "octets_$1") * 100 <= all * 95)); then
		cat "$TMP/json"
		return 1
	fi
}

# transfer NAME PATH ADDRESS "SINK OPTIONS" SENDER-OPTION...: one connection, exactly what was sent.
transfer() {
	local name=$1 path=$2 address=$3 options=$4
	shift 4
	rm -f "$TMP/out"
	open_sink "$address" --once --path "$path" --out "$TMP/out" "$options" &&
		send "$name" "$address" -S "$seed" -o "$TMP/want" "$@" && ended 0 &&
		sent_is_received "$name" &&
		cmp "$TMP/want" "$TMP/out" && by_path "$path" &&
		is mpa_error 0 ddp_error false socket_error "" crc_errors 0
}

# refuses CODE TYPE.CODE "SINK OPTIONS" SENDER-OPTION...
refuses() {
	local code=$1 error=$2 options=$3
	shift 3
	open_sink $V4_RCV --once "$options" || return
	send refused $V4_RCV "$@" # its end depends on how much it had still to say
	ended "$code" && is ddp_error true ddp_error_type "${error%.*}" ddp_error_code "${error#*.}"
}

# stopped SIGNAL CODE
stopped() {
	open_sink $V4_RCV --path kernel || return
	kill -"$1" "$sink"
	reap "$sink" 5
	[[ $? == "$2" && ! -s $TMP/json ]]
}

keys() {
	local key missing=
	for key in peer local no_direct markers_in crc octets_direct octets_kernel direct_share \
		stream_direct stream_kernel segments_direct segments_kernel fpdus messages \
		tagged_messages tagged_octets untagged_messages untagged_octets seconds gbit_per_s \
		went_direct went_kernel hand_offs left_direct acks_sent injected crc_errors drops \
		mpa_error ddp_error error_header socket_error; do
		grep -q "\"$key\":" "$TMP/json" || missing+=" $key"
	done
	[[ -z $missing ]] || echo "missing:$missing"
	[[ -z $missing ]]
}

# With another pin directory, --path direct does not even listen, and says why; auto goes on, and its report says so.
direct_refused() {
	local pid rc
	spawn pid rcv sink "$xiwarp" sink --json --path direct --pin-dir "$_bpffs/xiw-none-$$" \
		--listen $V4_RCV
	reap "$pid" 5
	rc=$?
	((rc == 124)) && stop "$pid"
	cat "$TMP/sink"
	[[ $rc == 4 && $(wc -l <"$TMP/sink") == 1 ]] &&
		grep -q "^xiwarp: --path direct: .*the pin directory .* does not exist" "$TMP/sink"
}

auto_without() {
	transfer auto kernel $V4_RCV "--path auto" "${mixed[@]}" && [[ -n $(field no_direct) ]]
}

# together N: as many senders at once into one buffer, each into its part.
together() {
	local i pids=() pid part=$((2 * mib)) bad=0
	rm -f "$TMP/out"
	open_sink $V4_RCV --path direct --size $(($1 * part)) --out "$TMP/out" || return
	: >"$TMP/want"
	for ((i = 0; i < $1; i++)); do
		spawn pid snd "send-$i" "$tests/lib/sendto" -S $((seed + i)) -b $((i * part)) \
			-t $part -l 1-50000 -u 20 -o "$TMP/want-$i" $V4_RCV 15044
		pids+=("$pid")
	done
	for ((i = 0; i < $1; i++)); do
		reap "${pids[i]}" 20 || bad=1
		cat "$TMP/want-$i" >>"$TMP/want"
	done
	wait_until 5 lines_are "$1"
	stop "$sink" TERM
	[[ $? == 143 ]] && ((bad == 0)) && cmp "$TMP/want" "$TMP/out" &&
		local clean='"mpa_error":0,"ddp_error":false.*"socket_error":""'
		[[ $(grep -c "$clean" "$TMP/json") == "$1" ]]
}

lines_are() {
	[[ $(wc -l <"$TMP/json") == "$1" ]]
}

# out_to FILE: a transfer with that --out, of which $TMP/want has the octets.
out_to() {
	open_sink $V4_RCV --once --path kernel --out "$1" &&
		send out $V4_RCV -S "$seed" -o "$TMP/want" -t 100000 -l 5000 && ended 0
}

# A device or a FIFO is written to, and not replaced; so is what a symbolic link leads to.
out_device() {
	out_to "$TMP/node" && [[ -c $TMP/node ]]
}
out_fifo() {
	local reader
	mkfifo "$TMP/fifo"
	spawn reader host from-fifo cat "$TMP/fifo"
	out_to "$TMP/fifo" && reap "$reader" 5 && [[ -p $TMP/fifo ]] &&
		cmp "$TMP/want" "$TMP/from-fifo"
	local rc=$?
	rm -f "$TMP/fifo" # else the search for reports of sanitizers would read it
	return "$rc"
}
out_link() {
	mkdir -p "$TMP/there"
	: >"$TMP/there/file"
	chmod 640 "$TMP/there/file"
	ln -s there/file "$TMP/link"
	out_to "$TMP/link" && [[ -L $TMP/link && $(stat -c %a "$TMP/there/file") == 640 ]] &&
		cmp "$TMP/want" "$TMP/there/file"
}
# The link is where only its user may look, which root may not either once it has given up its privileges.
out_private_link() {
	mkdir -m 700 "$TMP/home" && mkdir "$TMP/data" && : >"$TMP/data/file" &&
		ln -s "$TMP/data/file" "$TMP/home/link" && chown 12345:12345 "$TMP/home" || return
	out_to "$TMP/home/link" && [[ -L $TMP/home/link ]] && cmp "$TMP/want" "$TMP/data/file"
}
out_stdout() {
	spawn sink rcv sink sh -c "exec '$xiwarp' sink --json --once --path kernel --stag 0x1234 \
		--listen $V4_RCV --out /dev/stdout | cat >'$TMP/both'"
	wait_listen rcv 15044 || return
	send out $V4_RCV -S "$seed" -o "$TMP/want" -t 100000 -l 5000 && reap "$sink" 5 &&
		grep -aq '"tagged_octets":100000,' "$TMP/both" &&
		tail -n +2 "$TMP/both" >"$TMP/behind" && cmp "$TMP/want" "$TMP/behind"
}

seed=$((RANDOM + 1))
echo "seed $seed"
wire_up fair 1500
wire_clamp 262144

expect stop-INT stopped INT 130
expect stop-TERM stopped TERM 143
expect direct-not-loaded direct_refused
expect auto-not-loaded auto_without
if mknod "$TMP/node" c 1 3 && { : >"$TMP/node"; } 2>/dev/null; then
	expect out-device out_device
else
	skip out-device "no device node can be made and opened here"
fi
expect out-fifo out_fifo
expect out-link out_link
expect out-private-link out_private_link
expect out-stdout out_stdout
refused out-directory 1 "is a directory: name a file in it" "$xiwarp" sink --path kernel \
	--out "$TMP/there"
ln -s nowhere "$TMP/dangling"
refused out-dangling 1 "symbolic link to what does not exist" "$xiwarp" sink --path kernel \
	--out "$TMP/dangling"

load_patient rcv || fail load "exit code $?"
pin_napi rcv "$RCV_CORE"
for path in kernel direct; do
	for address in $V4_RCV $V6_RCV; do
		v=v4
		[[ $address == *:* ]] && v=v6
		expect "$path-$v" transfer "$path-$v" $path $address "" "${mixed[@]}"
		expect "$path-$v-report" is markers_in false crc true
		expect "$path-$v-markers" transfer "$path-$v-markers" $path $address \
			--markers "${mixed[@]}"
		expect "$path-$v-markers-report" is markers_in true crc true
	done
	# An application may do without CRCs only if the administrator allows it (RFC 5044 section 4.4).
	administrator "crc required"
	expect "$path-crc-required" transfer "$path-crc-required" $path $V4_RCV "--crc off" \
		-C "${mixed[@]}"
	expect "$path-crc-required-report" is crc true
	expect "$path-crc-required-told" grep -q "administrator has not allowed it" "$TMP/sink"
	administrator "crc off"
	expect "$path-crc-off" transfer "$path-crc-off" $path $V4_RCV "" "${mixed[@]}"
	expect "$path-crc-off-report" is crc false
	administrator "crc optional"
	expect "$path-no-crc" transfer "$path-no-crc" $path $V4_RCV "--crc off" -C "${mixed[@]}"
	expect "$path-no-crc-report" is crc false
	expect "$path-no-crc-markers" transfer "$path-no-crc-markers" $path $V6_RCV \
		"--crc off --markers" -C "${mixed[@]}"
	# CRCs are used if either side asks for them (RFC 5044 section 7.1).
	expect "$path-crc-receiver" transfer "$path-crc-receiver" $path $V4_RCV "" -C "${mixed[@]}"
	expect "$path-crc-receiver-report" is crc true
	expect "$path-crc-sender" transfer "$path-crc-sender" $path $V4_RCV "--crc off" \
		"${mixed[@]}"
	expect "$path-crc-sender-report" is crc true
done
expect json-keys keys
# Messages of one octet, and of none; nothing but untagged ones.
expect tiny transfer tiny direct $V4_RCV "" -t 20000 -l 1-3 -u 40 -L 0-1
expect untagged-only transfer untagged-only direct $V4_RCV "--queues 5" -t 0 -u 80 -q 5 -L 1-65536

expect size-exact transfer size-exact direct $V4_RCV "--size 1M" -t $mib -l 5000
expect size-exceeded refuses 7 1.1 "--size 1M" -t $((mib + 1)) -l 5000
expect stag-unknown refuses 7 1.0 "" -s 0x4321
expect queues refuses 7 2.1 "--queues 2" -t 0 -u 3 -L 100
expect recv-size refuses 7 2.5 "--recv-size 99" -t 0 -u 1 -L 100
expect together together 6

# What comes in one turn of the engine has no time that could be told, and no throughput.
spawn sink rcv sink.log "$xiwarp" sink --path kernel --once --stag 0x1234 --listen $V4_RCV
wait_listen rcv 15044
expect one-turn in_ns snd "$BUILD/example_send" $V4_RCV 15044 "some text"
reap "$sink" 10
expect one-turn-received grep -q "1 tagged messages, 9 octets" "$TMP/sink.log"
expect one-turn-no-time sh -c "! grep '^  time' '$TMP/sink.log'"

in_ns rcv "$xiwarp" unload "$IF_RCV" >/dev/null || fail unload "exit code $?"
if ! kernel_has 6 6; then
	skip jumbo \
		"AF_XDP takes segments of several frames, as MTU 9000 has them, from Linux 6.6 on"
	finish
fi
wire_up fair 9000
# At most half of the offered window is in flight: a sender that reaches the window's edge cuts segments anywhere.
wire_clamp 524288
load_patient rcv || fail load "exit code $?"
pin_napi rcv "$RCV_CORE"
for address in $V4_RCV $V6_RCV; do
	v=v4
	[[ $address == *:* ]] && v=v6
	expect "jumbo-$v" transfer "jumbo-$v" direct $address "" -t $((30 * mib)) -l 1-1000000 -u 40
	expect "jumbo-$v-markers" transfer "jumbo-$v-markers" direct $address \
		--markers "${mixed[@]}"
	# More than one AF_XDP frame for a segment.
	expect "jumbo-$v-frames" [ "$(field segments_direct)" -lt $((8 * mib / 4096)) ]
done
in_ns rcv "$xiwarp" unload "$IF_RCV" >/dev/null || fail unload "exit code $?"
finish
