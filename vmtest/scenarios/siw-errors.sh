# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# An error on each side of a connection between siw and ours: a wrong STag, a place out of bounds, a damaged octet. The
# side that finds the error sends a Terminate, and the reports of both sides name it. siw's application is
# tests/siw/siw_peer.c. Ours are `xiwarp rping`, `xiwarp sink` and tests/net/peer/siw_end.c. A capture of the wire is in
# $RESULTS/errors.pcap. limit: 900, siw: 1
. vmtest/siw.sh
peer=$BUILD/tests/siw/siw_peer
end=$BUILD/tests/net/peer/siw_end

# says NAME FILE PATTERN: the report in FILE must match.
says() {
	if grep -Eq "$3" "$2"; then
		pass "$1"
	else
		fail "$1" "'$3' does not match: $(cat "$2")"
	fi
}

# siw_errs NAME TERMINATE PEER-OPTIONS END-OPTIONS: siw writes to a region of siw_end, which sends TERMINATE.
siw_errs() {
	local pid out=$RESULTS/$1
	# shellcheck disable=SC2086
	in_ours "$end" listen 10.88.0.2 7200 $4 >"$out-ours" 2>&1 &
	pid=$!
	listening 7200 in_ours
	# shellcheck disable=SC2086
	patiently 30 "$peer" connect 10.88.0.2 7200 wait=1 $3 >"$out-siw" 2>&1
	expect "$1-siw-ended" [ $? = 0 ]
	ended "$pid"
	cat "$out-siw" "$out-ours"
	says "$1-ours-says" "$out-ours" "events=CeX .* sent=$2 \("
	says "$1-siw-told" "$out-siw" '^cm RDMA_CM_EVENT_DISCONNECTED'
	# siw reads layer and type in the wrong order.
	dmesg | grep 'TERMINATE' | tail -n 1 >"$out-kernel"
	says "$1-siw-says" "$out-kernel" "layer ${2:2:1}, type ${2:0:1}, code ${2:4:1}"
}

# ours_errs NAME RECEIVED OPTION [EQUAL]: ours writes to or reads from siw_peer's region; siw sends RECEIVED.
ours_errs() {
	local pid i out=$RESULTS/$1
	patiently 60 "$peer" listen 10.88.0.1 7300 equal="${4:-0}" >"$out-siw" 2>&1 &
	pid=$!
	for ((i = 0; i < 100; i++)); do
		grep -q listening "$out-siw" && break
		sleep 0.1
	done
	# shellcheck disable=SC2086
	in_ours "$end" connect 10.88.0.1 7300 $3 >"$out-ours" 2>&1
	expect "$1-ours-ended" [ $? = 0 ]
	ended "$pid"
	expect "$1-siw-ended" [ $? = 0 ]
	cat "$out-siw" "$out-ours"
	says "$1-ours-says" "$out-ours" "events=C[^ ]*X .* received=$2( |$)"
}

# damage egress|ingress N: damages the Nth segment of 100 octets or more that siw sends or receives from now on.
damage() {
	local octets
	tc filter del dev sw0 ingress 2>/dev/null
	tc filter del dev sw0 egress 2>/dev/null
	octets=$(bpftool map show pinned /sys/fs/bpf/damage/hold |
		sed -n 's/.*value \([0-9]*\)B.*/\1/p')
	# shellcheck disable=SC2046
	expect "armed-$1" bpftool map update pinned /sys/fs/bpf/damage/hold key hex 00 00 00 00 \
		value hex 00 00 00 00 $(printf '%02x %02x' $(($2 & 255)) $(($2 >> 8))) \
		00 00 $(printf '00 %.0s' $(seq 9 "$octets"))
	expect "damage-$1" tc filter add dev sw0 "$1" bpf da pinned /sys/fs/bpf/damage-prog
}

damaged() {
	bpftool -j map dump pinned /sys/fs/bpf/damage/hold >/tmp/damage
	says "$1-damaged" /tmp/damage '"acted": *1\b'
}

# What sink and rping report of siw's wrong Writes.
programs() {
	local pid out=$RESULTS/rping-stag
	in_ours "$BUILD/xiwarp" rping -s -a 10.88.0.2 --json >"$out-ours" 2>&1 &
	pid=$!
	listening 7174 in_ours
	patiently 30 "$peer" connect 10.88.0.2 7174 wait=1 stag=0xdead01 octets=1000 \
		>"$out-siw" 2>&1
	ended "$pid"
	expect rping-stag-exit [ $? = 7 ]
	cat "$out-siw" "$out-ours"
	says rping-stag-ours-says "$out-ours" \
		'"terminate_sent":\{"layer":1,"type":1,"code":0,"name":"[a-z ]*STag'

	out=$RESULTS/sink-bounds
	in_ours "$BUILD/xiwarp" sink --stag 0x1234 --size 1M --once --json >"$out-ours" 2>&1 &
	pid=$!
	listening 15044 in_ours
	patiently 30 "$peer" connect 10.88.0.2 15044 wait=1 stag=0x1234 to=1048000 octets=1000 \
		>"$out-siw" 2>&1
	ended "$pid"
	expect sink-bounds-exit [ $? = 7 ]
	cat "$out-siw" "$out-ours"
	says sink-bounds-ours-says "$out-ours" '"ddp_error_type":1,"ddp_error_code":1,'
	says sink-bounds-siw-told "$out-siw" '^cm RDMA_CM_EVENT_DISCONNECTED'
}

# A segment damaged on the direct path is not acknowledged, and siw resends it.
repaired() {
	local pid out=$RESULTS/crc-direct
	head -c 4000000 /dev/urandom >/tmp/random
	in_ours "$BUILD/xiwarp" sink --stag 0x1234 --path direct --once --json --out /tmp/written \
		>"$out-ours" 2>&1 &
	pid=$!
	listening 15044 in_ours
	damage egress 500
	patiently 60 "$peer" connect 10.88.0.2 15044 stag=0x1234 file=/tmp/random >"$out-siw" 2>&1
	ended "$pid"
	expect crc-direct-exit [ $? = 0 ]
	cat "$out-siw" "$out-ours"
	damaged crc-direct
	says crc-direct-ours-says "$out-ours" '"crc_errors":[1-9]'
	expect crc-direct-octets cmp /tmp/random /tmp/written
}

# terminates ADDRESS: the Terminates that it sent, as on the wire: MPA, DDP (Last, version 1), RDMAP (version 1,
# opcode 7), STag, QN 2, MSN 1, MO 0, then the control field, which is printed.
terminates() {
	tshark -r "$RESULTS/errors.pcap" -Y "ip.src == $1 && tcp.len > 0" \
		-T fields -e tcp.payload 2>/dev/null |
		sed -n 's/.*4[01]47........000000020000000100000000\(........\).*/\1/p' |
		sort -u | tr '\n' ' '
}

guest() {
	local capture
	siw_up
	tcpdump -i sw0 -U -w "$RESULTS/errors.pcap" 'tcp port 7174 or port 7200 or port 7300' \
		2>/dev/null &
	capture=$!
	sleep 1
	# siw reports a received Terminate only in the kernel's log.
	echo 'func siw_proc_terminate +p' >/proc/dynamic_debug/control
	siw_errs bounds 1.1.1MD "stag=0x2222 to=$((0x10000 + (1 << 20) - 999)) octets=1000"
	siw_errs stag 1.1.0MD 'stag=0xdead01 octets=1000'
	siw_errs below 1.1.1MD 'stag=0x2222 to=0xffff octets=1000'
	programs
	ours_errs good none write=good 1000
	ours_errs good-read none read=good
	ours_errs our-stag '1.1.0.*-siw .*' write=stag
	ours_errs our-bounds '1.1.1.*-siw .*' write=bounds
	ours_errs our-read-stag '0.1.*-siw .*' read=stag
	ours_errs our-read-bounds '0.1.*-siw .*' read=bounds

	expect damage-load bpftool prog load "$BUILD/tests/net/lib/hold.bpf.o" \
		/sys/fs/bpf/damage-prog type classifier pinmaps /sys/fs/bpf/damage
	expect clsact tc qdisc add dev sw0 clsact
	damage ingress 1
	# siw places octets before it checks the CRC: those before the damaged octet are in memory.
	ours_errs our-crc '2.0.2-siw .*' write=good 904
	damaged our-crc
	damage egress 3
	siw_errs crc 2.0.2 'stag=0x2222 to=0x10000 octets=5000 chunk=1000' path=kernel
	damaged crc
	repaired
	kill "$capture"
	wait "$capture"
	# siw puts M, D and R into the lowest bits of the third octet, and swaps layer and type.
	expect wire-siw [ "$(terminates 10.88.0.1)" = \
		'02020000 10000700 10010700 11000300 11010300 ' ]
	expect wire-ours [ "$(terminates 10.88.0.2)" = '1100c000 1101c000 20020000 ' ]
	# What siw received was damaged behind the capture.
	"$BUILD/tests/siw/wire_crc" "$RESULTS/errors.pcap" 10.88.0.1 >"$RESULTS/crc-wire"
	expect wire-siw-crc [ "$? $(grep -c 'its CRC was' "$RESULTS/crc-wire")" = "1 1" ]
	expect wire-ours-crc "$BUILD/tests/siw/wire_crc" "$RESULTS/errors.pcap" 10.88.0.2
}
