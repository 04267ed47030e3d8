# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Sourced by `run`: what xiw_ingress costs, what huge pages save, and what memory a connection that is idle takes.
# Rounds become lines of $TMP/lines, for bench_rows. Also what a row says that cannot be measured.

# bpf_time NAME: what the kernel has counted of a program: its time and its runs.
bpf_time() {
	bpftool -j prog show name "$1" | grep -o '"run_time_ns":[0-9]*,"run_cnt":[0-9]*' |
		tail -n 1 | sed 's/[^0-9]\+/ /g'
}

# bpf_run CASE PROGRAM PROGRAMS: sets $each to the nanoseconds of a run.
bpf_run() {
	local before after
	need_programs "$3"
	before=$(bpf_time "$2")
	run_case "$1" 64
	after=$(bpf_time "$2")
	each=$(awk -v a="${before:-0 0}" -v b="${after:-0 0}" 'BEGIN {
		split(a, x)
		split(b, y)
		if (y[2] <= x[2])
			exit 1
		printf "%.3f\n", (y[1] - x[1]) / (y[2] - x[2])
	}') || die "$2: the kernel has counted nothing"
}

bpf_stats=/proc/sys/kernel/bpf_stats_enabled

# The kernel takes the time of each run, which both figures include.
bpf_under_traffic() {
	local round each ours mtu=1500
	local mib=$((mib < 256 ? mib : 256)) in_flight
	bpf_stats_was=$(<$bpf_stats)
	trap 'rc=$?; echo $bpf_stats_was >$bpf_stats; (exit $rc); _cleanup' EXIT
	fair_wire
	for ((round = 0; round <= rounds; round++)); do
		progress "xiw_ingress under traffic, round $round of $rounds"
		echo 1 >$bpf_stats
		bpf_run direct xiw_ingress ours
		ours=$each
		bpf_run floor floor_all floor
		echo "$bpf_stats_was" >$bpf_stats
		((round)) && echo "bpf_ingress_under_traffic 1500 64 ns $ours $each run_time_ns /" \
			"run_cnt of bpf_stats, with what it takes to measure that; ours:" \
			"xiw_ingress under the traffic of the direct path; other: a program of" \
			"two instructions under that of the floor" >>"$TMP/lines"
	done
	wire_down
}

bpf_costs() {
	progress "xiw_ingress"
	spawn receiver host recv.err sh -c "exec taskset -c $RCV_CORE '$out/bpf_bench' \
		'$BUILD/bpf/xiwarp.bpf.o' '$BUILD/tests/bench/again.bpf.o' 21 >>'$TMP/lines'"
	reap "$receiver" 120 || die "bpf_bench failed"
	bpf_under_traffic
}

huge() {
	local round gbit ns ordinary direct text mtu in_flight
	for mtu in "${mtus[@]}"; do
		((mtu == 3490)) && continue # it would say nothing more
		fair_wire
		for ((round = 0; round <= rounds; round++)); do
			progress "MTU $mtu, huge pages, round $round of $rounds"
			run_case direct 64
			read_result
			ordinary=$ns
			HUGE=1 run_case direct 64
			read_result
			direct=$ns
			HUGE=1 run_case plain_tcp 64
			read_result
			((round)) || continue
			text="NAPI thread and application of the receiver; $mib MiB; ours: direct"
			text+=" path into memory of xiw_memory_alloc(); other:"
			echo "huge_pages_vs_ordinary $mtu 64 ns/octet $direct $ordinary $text" \
				"the same into ordinary memory" >>"$TMP/lines"
			echo "huge_pages_vs_plain_tcp $mtu 64 ns/octet $direct $ns $text plain" \
				"TCP into such memory" >>"$TMP/lines"
		done
		wire_down
	done
}

# memory_of COUNT: sets $each to the octets that the library allocates for each of so many connections.
memory_of() {
	local idle=$BUILD/tests/net/conn/idle recv send
	spawn recv rcv idle "$idle" recv "$port" "$1"
	wait_listen rcv "$port" || die "memory: the receiver does not listen"
	spawn send snd send "$idle" send $V4_RCV "$port" "$1"
	wait_until 90 grep -q '^rested' "$TMP/idle" || die "memory: $(<"$TMP/idle")"
	kill -USR1 "$send"
	wait_until 60 grep -q '^done' "$TMP/idle" || die "memory: $(<"$TMP/idle")"
	kill -USR1 "$send"
	reap "$send" 30 && reap "$recv" 60 || die "memory: $(<"$TMP/idle")"
	each=$(sed -n 's/^PASS octets-allocated-for-each (\([0-9]*\))$/\1/p' "$TMP/idle")
}

memory() {
	local n each
	for n in 1000 10000; do
		progress "memory of $n connections"
		wire_up plain 1500 # new namespaces: no connections of an earlier run
		in_ns rcv "$BUILD/xiwarp" load "$IF_RCV" --flows 16384 >/dev/null ||
			die "cannot load the programs"
		memory_of $n
		echo "memory_per_connection_$n 1500 0 octets $each 4096 ours: what the library" \
			"has allocated for each of $n idle connections, without the socket;" \
			"other: what a test allows" >>"$TMP/lines"
		wire_down
	done
}

# A row without figures, which says why.
without_before() {
	local m r sep='' why left=()
	why=$(cat "$out/before/absent" 2>/dev/null || echo "tests/bench/before was not run")
	for r in "${only[@]}"; do
		[[ $r == kernel_before ]] || left+=("$r")
	done
	((${#left[@]} < ${#only[@]})) || return 0
	only=("${left[@]}")
	for m in "${mtus[@]}"; do
		for r in "${regions[@]}"; do
			printf '%s{ "name": "direct_vs_kernel_before_together", "mtu": %d, ' \
				"${sep:-[ }" "$m"
			printf '"region_mib": %d, "unit": "ns/octet", "absent": "%s" }' "$r" \
				"${why//[\"\\]/ }"
			sep=', '
		done
	done >"$TMP/absent"
	echo ' ]' >>"$TMP/absent"
}
