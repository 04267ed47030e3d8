# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Sourced by `run`: what arrives, and what it costs, over a wire that loses segments or sends them late, against plain
# TCP. impair.bpf.c does that: it loses them in the middle of the wire, and sends them late on the sender's egress,
# where each segment is a packet of its own then. Rounds become lines of $TMP/lines, for bench_rows.

impaired_pins=$_bpffs/xiw-wire-$$/impaired # wire_down removes it

impaired_wire() {
	wire_up fair "$mtu"
	wire_clamp $((174 * mtu))
	# What a connection has learned of the wire is nothing to the next one.
	set_sysctl snd net.ipv4.tcp_no_metrics_save 1
	mkdir -p "$impaired_pins"
	# shellcheck disable=SC2046
	in_ns mid bpftool prog loadall "$BUILD/tests/bench/impair.bpf.o" "$impaired_pins" \
		pinmaps "$impaired_pins" && in_ns snd tc qdisc add dev "$IF_SND" clsact &&
		in_ns snd tc filter add dev "$IF_SND" egress bpf da \
			pinned "$impaired_pins/impair_egress" &&
		in_ns mid bpftool map update pinned "$impaired_pins/impair_ports" \
			key $(_u32 "$(_ifindex mid "$_if_mid_snd")") \
			value $(_u32 "$(_ifindex mid "$_if_mid_rcv")") 0 0 0 0 &&
		in_ns mid bpftool net attach xdpdrv pinned "$impaired_pins/impair_cross" \
			dev "$_if_mid_snd" overwrite || die "cannot impair the wire"
}

# impair SEED LOSE DELAY DEPTH: of 10,000 segments, so many.
impair() {
	local n value=() segments=$(($3 ? 1 : 65535))
	in_ns snd ip link set dev "$IF_SND" gso_max_segs $segments ||
		die "segments cannot be separated"
	for n in "$1" $((($2 << 32) / 10000)) $((($3 << 32) / 10000)) "$4"; do
		# shellcheck disable=SC2207
		value+=($(_u32 "$n"))
	done
	# shellcheck disable=SC2046
	bpftool map update pinned "$impaired_pins/impair" key 0 0 0 0 value "${value[@]}" \
		$(printf '0 %.0s' $(seq $((5 * 4 + 2048)))) || die "cannot impair the wire"
}

# Prints how many segments were seen, lost and late.
impaired_counts() {
	bpftool -j map dump pinned "$impaired_pins/impair" |
		sed 's/.*"seen":\([0-9]*\),"lost":\([0-9]*\),"delayed":\([0-9]*\).*/\1 \2 \3/'
}

# impaired_run PATH SEED LOSE DELAY DEPTH: sets $gbit and $ns.
impaired_run() {
	impair "${@:2}"
	run_case "$1" 1
	read_result
	echo "impaired $*: $(impaired_counts): $cost $(<"$TMP/result")" >>"$TMP/spread"
}

impaired() {
	local round which gbit ns text mtu=1500 mib=$((mib < 1024 ? mib : 1024))
	local -A how=([loss_0_1pct]="10 0 0" [loss_1pct]="100 0 0" [reorder]="0 100 8")
	local -A says=(
		[loss_0_1pct]="one segment of 1,000 is lost"
		[loss_1pct]="one segment of 100 is lost"
		[reorder]="one segment of 100 is late, and 8 overtake it") ours=()
	impaired_wire
	loaded=none
	# The wire is slower with loss, so fewer octets last as long.
	mib=$((mib / 4 > 2 ? mib / 4 : 2))
	for ((round = 0; round <= rounds; round++)); do
		for which in loss_0_1pct loss_1pct reorder; do
			progress "$which, round $round of $rounds"
			# shellcheck disable=SC2086
			impaired_run direct "$round" ${how[$which]}
			ours[$which]="$gbit $ns"
		done
		for which in loss_0_1pct loss_1pct reorder; do
			progress "$which, round $round of $rounds"
			# shellcheck disable=SC2086
			impaired_run plain_tcp "$round" ${how[$which]}
			((round)) || continue
			text="$mib MiB, Reno; on its way ${says[$which]}, by the same"
			text+=" seed for both; ours: MPA and DDP with CRC32c, programs loaded,"
			text+=" direct path; other: plain TCP, no XDP program, GRO on"
			echo "goodput_${which}_vs_plain_tcp 1500 1 Gbit/s ${ours[$which]% *}" \
				"$gbit $text" >>"$TMP/lines"
			echo "cost_${which}_vs_plain_tcp 1500 1 ns/octet ${ours[$which]#* }" \
				"$ns NAPI thread and application of the receiver; $text" \
				>>"$TMP/lines"
		done
	done
	wire_down
}
