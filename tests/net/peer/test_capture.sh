#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What the sender puts on the wire, as an independent implementation reads it: captured at the sender's interface and
# dissected by tshark. Every data segment consists of FPDUs that carry DDP, every CRC is good, and the receiver, which
# takes all of it by the direct path, counts the same.
#
# Without markers: tshark 4.0 expects one marker too many in an FPDU that ends just where a marker is due,
# and then loses the framing. timeout: 120
. "${0%/*}/../lib/lib.sh"

xiwarp=$BUILD/xiwarp
resent='(tcp.analysis.retransmission || tcp.analysis.spurious_retransmission)'
# Each of these violates RFC 5044 or RFC 5041, or is an FPDU that ends too early.
wrong='_ws.malformed || iwarp_mpa.bad_length || iwarp_mpa.res.not_set0 || iwarp_mpa.rev.not_set1 ||
	iwarp_mpa.reject_bit_responder || (iwarp_ddp && (iwarp_ddp.dv != 1 || iwarp_ddp.rsvd != 0))'

command -v tshark dumpcap >/dev/null || {
	skip capture "no tshark"
	finish
}

capture() {
	spawn dumpcap snd dumpcap dumpcap -q -P -i "$IF_SND" -s 0 -f "tcp port 15044" -B 64 \
		-w "$TMP/pcap"
	wait_until 10 grep -q '^File:' "$TMP/dumpcap" || fail capture "$(cat "$TMP/dumpcap")"
}

# dissect FILTER [OPTION...]: of the capture. Fails if tshark refuses the filter.
dissect() {
	tshark -n -r "$TMP/pcap" -Y "$1" "${@:2}" 2>"$TMP/tshark"
}

# none NAME FILTER: the capture has no such segment.
none() {
	local found
	if ! found=$(dissect "$2"); then
		fail "$1" "$(cat "$TMP/tshark")"
	elif [[ -n $found ]]; then
		fail "$1" "$(wc -l <<<"$found") segments, the first: ${found%%$'\n'*}"
	else
		pass "$1"
	fi
}

# fpdus DIRECTION: sets `all`, `good` (CRC), `payload` (octets behind the DDP headers) and of it `tagged`.
fpdus() {
	local filter="iwarp_mpa.fpdu && !$resent && $1" text
	all=0 good=unknown payload=unknown tagged=unknown
	text=$(dissect "$filter" -O iwarp_mpa) || return
	all=$(grep -c '^    FPDU' <<<"$text")
	good=$(grep -c 'CRC check: .*(Good CRC32)$' <<<"$text")
	read -r payload tagged < <(dissect "$filter" -T fields -e iwarp_mpa.ulpdulength \
		-e iwarp_ddp.tagged_flag | tr ',' ' ' |
		awk '{ n = NF / 2; for (i = 1; i <= n; i++)
				if ($(n + i) ~ /1|True/) t += $i - 14; else u += $i - 18 }
			END { print t + u, t + 0 }')
}

# judge NAME REPORT: the capture, and what the receiver reports.
judge() {
	local name=$1 report=$2 share octets counted

	none "$name-recognised" "tcp.len > 0 && !iwarp_mpa && !$resent"
	none "$name-well-formed" "$wrong"
	fpdus "tcp.srcport == 15044" # what the receiver sends, if anything
	expect "$name-crc-back" [ "$good" = "$all" ]
	fpdus "tcp.dstport == 15044"
	if ((all == 0 || good != all)); then
		fail "$name-crc" "$good good of $all"
	else
		pass "$name-crc"
	fi
	octets=$(field octets) # of the file, all tagged; untagged messages are not counted there
	if [[ -n $octets ]]; then
		expect "$name-octets" [ "$tagged" = "$octets" ]
	else
		octets=$(($(field octets_direct) + $(field octets_kernel)))
		expect "$name-octets" [ "$payload" = "$octets" ]
	fi
	counted=$(field fpdus)
	[[ -z $counted ]] || expect "$name-fpdus" [ "$all" = "$counted" ]
	share=$(field direct_share)
	expect "$name-direct" awk "BEGIN { exit !($share >= 0.95) }"
}

# exchange NAME RECEIVER-COMMAND SENDER-COMMAND: captured.
exchange() {
	local receiver rc

	capture
	spawn receiver rcv receiver sh -c "exec $2 >'$TMP/json'"
	if ! wait_listen rcv 15044; then
		fail "$1" "nobody listens: $(cat "$TMP/receiver")"
		stop "$dumpcap" INT
		return 1
	fi
	spawn sender snd sender sh -c "exec $3"
	reap "$sender" 20
	rc=$?
	((rc)) && fail "$1" "sender: exit code $rc: $(cat "$TMP/sender")"
	reap "$receiver" 10 || fail "$1" "receiver: exit code $?: $(cat "$TMP/receiver")"
	# Captured packets reach the file with some delay.
	wait_until 5 closed
	stop "$dumpcap" INT
	if ! grep -q '/0 (pcap:0/dumpcap:0' "$TMP/dumpcap"; then
		fail "$1" "frames missing: $(grep dropped "$TMP/dumpcap")"
		return 1
	fi
	return "$rc"
}

closed() {
	[[ $(tshark -n -r "$TMP/pcap" -Y 'tcp.flags.fin == 1 || tcp.flags.reset == 1' 2>/dev/null |
		wc -l) -ge 2 ]]
}

# One octet of the payload of one FPDU is changed, in the file: then exactly that CRC is bad.
damaged() {
	local frame at octet
	frame=$(dissect "tcp.dstport == 15044 && iwarp_ddp && tcp.len > 1000 && !$resent" \
		-T fields -e frame.number | sed -n 100p)
	[[ -n $frame ]] || return 1
	# pcap: 24 octets, and 16 in front of each frame.
	at=$(tshark -n -r "$TMP/pcap" -T fields -e frame.number -e frame.cap_len 2>/dev/null |
		awk -v f="$frame" \
		'BEGIN { n = 24 } $1 == f { print n + 16 + $2 - 600; exit } { n += 16 + $2 }')
	octet=$(od -An -tu1 -j "$at" -N 1 "$TMP/pcap")
	printf "\\x$(printf %x $((octet ^ 16)))" |
		dd of="$TMP/pcap" bs=1 seek="$at" conv=notrunc status=none
	fpdus "tcp.dstport == 15044"
	((all > 100 && good == all - 1)) &&
		[[ $(dissect "frame.number == $frame" -O iwarp_mpa) == *"(Bad CRC32"* ]]
}

wire_up fair 1500
wire_clamp 262144
# A loss probe after a late acknowledgement may cut a segment anywhere.
for side in snd rcv; do
	set_sysctl $side net.ipv4.tcp_early_retrans 0
done
load_patient rcv || fail load "exit code $?"
pin_napi rcv "$RCV_CORE"
mkdir "$TMP/in"
random_file "$TMP/file" 3

for v in 4 6; do
	if ((v == 4)); then
		address=$V4_RCV host=$V4_RCV
	else
		address=$V6_RCV host="[$V6_RCV]"
	fi
	if exchange "put-v$v" "'$xiwarp' serve --once --force --json --listen '$host' '$TMP/in'" \
		"'$xiwarp' put '$TMP/file' '$host'"; then
		judge "put-v$v" "$TMP/json"
		expect "put-v$v-content" cmp "$TMP/file" "$TMP/in/file"
	fi
	# Lengths and both buffer models at random; the sink counts FPDUs.
	if exchange "mixed-v$v" "'$xiwarp' sink --once --json --stag 0x77 --listen '$host'" \
		"'$BUILD/tests/net/lib/sendto' -s 0x77 -t 3000000 -l 1-9000 -u 40 $address \
			15044"; then
		judge "mixed-v$v" "$TMP/json"
		expect "mixed-v$v-damage-is-seen" damaged
	fi
done
in_ns rcv "$xiwarp" unload "$IF_RCV" >/dev/null || fail unload "exit code $?"

# An RTR by a Send without payload (RFC 6581 section 5): tshark 4.0 calls it malformed, because its dissector of RPC
# over RDMA reads beyond the end of the message. It finds no error in MPA, DDP and RDMAP.
rtr() {
	exchange rtr "'$xiwarp' rping -s -p 15044 --path kernel" \
		"'$xiwarp' rping -c -a $V4_RCV -p 15044 -C 1 --rtr send --path kernel" || return
	local filter="iwarp_mpa.ulpdulength == 18 && iwarp_rdma.opcode == 3 && !$resent" found
	# The first Send may follow in the same segment.
	[[ $(dissect "$filter" --disable-protocol rpcordma -T fields -E occurrence=f \
		-e iwarp_ddp.qn -e iwarp_ddp.msn) == $'0\t1' ]] &&
		found=$(dissect "$wrong" --disable-protocol rpcordma) && [[ -z $found ]]
}
expect rtr-send rtr
finish
