# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Sourced by `run`: how long a message takes there and back, with trip_bench, and what perftest's programs, unmodified,
# come to over the library. Rounds become lines of $TMP/lines, for bench_rows.

# Both ends receive by the direct path, where it is used.
trip_wire() {
	wire_up plain 1500 1
	wire_clamp 261000
}

trip_programs() { # load, or unload --force
	in_ns rcv "$BUILD/xiwarp" "$@" "$IF_RCV" >/dev/null &&
		in_ns snd "$BUILD/xiwarp" "$@" "$IF_SND" >/dev/null ||
		die "cannot $1 the programs"
}

# trip_run PATH SPIN SIZE COUNT: sets $p50 and $p99, in microseconds.
trip_run() {
	local share rc
	spawn receiver rcv recv.err taskset -c "$RCV_CORE" "$out/trip_bench" \
		serve "$@" "$V4_RCV" "$port"
	wait_listen rcv "$port" || die "trips: the receiver does not listen"
	spawn sender snd send sh -c "exec taskset -c $SND_CORE '$out/trip_bench' \
		ask $* $V4_RCV $port >'$TMP/result'"
	reap "$sender" 120 || die "trips: the sender failed with exit code $?"
	reap "$receiver" 30
	rc=$?
	((rc)) && die "trips: the receiver failed with exit code $rc"
	read -r p50 p99 share <"$TMP/result"
	echo "trips $*: $(<"$TMP/result")" >>"$TMP/spread"
	[[ $1 != direct || $share > 0.95 ]] ||
		say "bench: trips: only $share of the octets went direct"
}

# trip_rows NAME SIZE SPIN: ours against plain sockets, from $ours and $theirs (p50 p99).
trip_rows() {
	local i text part
	text="$2 octets there and back over veth, one message at a time, each end pinned to a"
	text+=" core;"
	if (($3)); then
		text+=" ours: direct path at both ends, which spin; other: plain sockets with"
		text+=" TCP_NODELAY, read in a loop without sleeping, no XDP program"
	else
		text+=" ours: direct path at both ends, which sleep; other: plain sockets with"
		text+=" TCP_NODELAY, which sleep in recv(), no XDP program"
	fi
	for i in 0 1; do
		part=p50
		((i)) && part=p99
		echo "${1/PART/$part} 1500 1 us ${ours[i]} ${theirs[i]} $text" >>"$TMP/lines"
	done
}

trips() {
	local round size spin name ours theirs count=20000
	local -A direct=()
	trip_wire
	for ((round = 0; round <= rounds; round++)); do
		progress "round trips, round $round of $rounds"
		trip_programs load
		for size in 64 4096; do
			for spin in 0 50; do
				trip_run direct "$spin" "$size" "$count"
				direct[$size,$spin]="$p50 $p99"
			done
		done
		trip_programs unload --force
		for size in 64 4096; do
			for spin in 0 50; do
				trip_run plain "$spin" "$size" "$count"
				((round)) || continue
				name=pingpong_PART
				((size == 64)) || name=pingpong_${size}_PART
				((spin == 0)) || name+=_spin
				read -ra ours <<<"${direct[$size,$spin]}"
				theirs=("$p50" "$p99")
				trip_rows "$name" "$size" "$spin"
			done
		done
	done
	wire_down
}

# program NAME OPTION...: perftest's NAME, its figures in $TMP/send.
program() {
	local run=("$BUILD/xiwarp" run --if)
	wait_until 10 _port_free rcv 18515
	spawn receiver rcv recv.err taskset -c "$RCV_CORE" "${run[@]}" "$IF_RCV" -- \
		"$1" -R -F "${@:2}"
	wait_listen rcv 18515 || die "$1: the server does not listen"
	spawn sender snd send taskset -c "$SND_CORE" "${run[@]}" "$IF_SND" -- \
		"$1" -R -F "${@:2}" "$V4_RCV"
	reap "$sender" 120 || die "$1: the client failed with exit code $?"
	reap "$receiver" 30 || die "$1: the server failed with exit code $?"
}

# figure SIZE COLUMN: from the line of the client's table for that size.
figure() {
	awk -v size="$1" -v column="$2" '$1 == size && $2 + 0 { print $column; exit }' "$TMP/send"
}

# Of the last run_case.
mib_per_s() {
	sed 's/.*"octets": \([0-9]*\), "seconds": \([0-9.]*\).*/\1 \2/' "$TMP/result" |
		awk '{ print $1 / $2 / 1048576 }'
}

latencies() {
	local round how latency text
	trip_wire
	trip_programs load
	for ((round = 0; round <= rounds; round++)); do
		for how in "" -e; do
			progress "ib_send_lat $how, round $round of $rounds"
			# shellcheck disable=SC2086
			program ib_send_lat -n 5000 -s 64 $how
			latency=$(figure 64 5)
			trip_run direct $((50 * !${#how})) 64 20000
			text="half of 64 octets there and back over veth; direct path; ours:"
			text+=" ib_send_lat by the preloaded library, $shared; other: the"
			text+=" library, in one thread at each end"
			[[ -n $how ]] && text+="; both sleep" || text+="; both poll"
			((round)) && echo "ib_send_lat${how:+_events}_vs_library 1500 1 us" \
				"$latency $(awk -v p="$p50" 'BEGIN { print p / 2 }') $text" \
				>>"$TMP/lines"
		done
	done
	wire_down
}

bandwidths() {
	local round rate text
	wire_up fair 1500
	wire_clamp 261000
	loaded=none
	for ((round = 0; round <= rounds; round++)); do
		progress "ib_write_bw, round $round of $rounds"
		run_case direct 64
		program ib_write_bw -n "$mib" -s 1048576
		rate=$(figure 1048576 4)
		text="Writes of 1 MiB over the fair wire, direct path; ours: ib_write_bw by the"
		text+=" preloaded library, $shared, 1 MiB written again and again; other: the"
		text+=" library, tagged messages to 64 MiB"
		((round)) && echo "ib_write_bw_vs_library 1500 64 MiB/s $rate" \
			"$(mib_per_s) $text" >>"$TMP/lines"
	done
	wire_down
}

programs() {
	local shared="each end on one core, which the program and the engine's thread share"
	if ! type -P ib_send_lat ib_write_bw >/dev/null; then
		say "bench: programs: perftest is not installed"
		return
	fi
	latencies
	bandwidths
}
