# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Sourced by `run`: what an octet costs when the traffic is spread over engines or over connections, with spread_bench,
# and messages of 64 octets, with message_bench. Rounds become lines of $TMP/lines, for bench_rows.

# At least the receiver's region.
spread_mib=$((mib < 64 ? 64 : mib < 512 ? mib : 512))

# spread_wire KIND QUEUES: the wire, with the programs loaded, and room for 16,384 flows.
spread_wire() {
	wire_up "$1" 1500 "$2"
	wire_clamp 1048576
	set_sysctl snd net.ipv4.tcp_slow_start_after_idle 0
	in_ns rcv "$BUILD/xiwarp" load "$IF_RCV" --mode native --flows 16384 >/dev/null ||
		die "cannot load the programs"
	if [[ $1 == plain ]]; then
		_threaded snd "$IF_SND" && _threaded rcv "$IF_RCV" && pin_napi snd "$SND_CORE" ||
			die "no threaded NAPI"
	fi
	pin_napi rcv "$RCV_CORE" || die "the receiver's NAPI threads cannot be pinned"
	same_policy
}

# steer QUEUES: source port 40000 + i comes on receive queue i modulo QUEUES.
steer() {
	local pins=$_bpffs/xiw-wire-$$ i
	bpftool prog loadall "$BUILD/tests/net/path/queues.bpf.o" "$pins" pinmaps "$pins" &&
		in_ns snd tc qdisc add dev "$IF_SND" clsact &&
		in_ns snd tc filter add dev "$IF_SND" egress bpf da pinned "$pins/steer" ||
		die "cannot steer"
	for ((i = 0; i < 64; i++)); do
		bpftool map update pinned "$pins/queue_of" key "$i" 0 0 0 \
			value $((1 + i % $1)) 0 0 0
	done
}

# spread_run QUEUES ENGINES CONNECTIONS LONG_MIB: sets $costs to ns/octet of NAPI and application, and of the
# application, for messages of 64 KiB and for those of 1 MiB.
spread_run() {
	local share rc
	# shellcheck disable=SC2046
	spawn receiver rcv recv.err sh -c "exec taskset -c $RCV_CORE '$out/spread_bench' \
		recv $2 $3 $spread_mib $4 $V4_RCV $port $(echo $(napi_thread rcv)) >'$TMP/result'"
	wait_listen rcv "$port" || die "$3 connections: the receiver does not listen"
	spawn sender snd send taskset -c "$SND_CORE" "$out/spread_bench" \
		send "$1" "$3" "$spread_mib" "$4" "$V4_RCV" "$port"
	reap "$sender" 120 || die "$3 connections: the sender failed with exit code $?"
	reap "$receiver" 30
	rc=$?
	((rc)) && die "$3 connections: the receiver failed with exit code $rc"
	read -r share costs <"$TMP/result"
	read -ra costs <<<"$costs"
	echo "$1 queues, $2 engines, $3 connections: $(<"$TMP/result")" >>"$TMP/spread"
	[[ $share > 0.95 ]] ||
		say "bench: $2 engines, $3 connections: only $share of the octets went direct"
}

spread_line() { # NAME OURS OTHER INCLUDED
	((round)) && echo "$1 1500 64 ns/octet $2 $3 $4" >>"$TMP/lines"
}

spread_engines() {
	local round n text base costs
	text="messages of 64 KiB; veth with 4 receive queues whose frames are skbs, which XDP"
	text+=" copies; 4 connections,"
	text+=" one on each queue; engines and NAPI threads share one core; ours: engines of a"
	text+=" group, a thread each, that share the queues; other: one engine in no group, with"
	text+=" all queues"
	spread_wire plain 4
	steer 4
	for ((round = 0; round <= rounds; round++)); do
		progress "engines, round $round of $rounds"
		spread_run 4 0 4 0
		base=("${costs[@]}")
		for n in 1 2 4; do
			spread_run 4 "$n" 4 0
			spread_line "engines_${n}_vs_one_together" "${costs[0]}" "${base[0]}" \
				"CPU time of NAPI threads and application; $text"
			spread_line "engines_${n}_vs_one_app" "${costs[1]}" "${base[1]}" \
				"CPU time of the application; $text"
		done
	done
	wire_down
}

spread_connections() {
	local round n name text long short base costs
	text="ours: so many connections, all open; other: one; each connection has gone direct and"
	text+=" left slow start by four messages of 64 KiB before"
	long="$spread_mib messages of 1 MiB, each on the next connection in turn and when the one"
	long+=" before has arrived but for its last 64 KiB; $text"
	short="$((spread_mib * 16)) messages of 64 KiB, each on the next connection in turn, at"
	short+=" most 4 under way; $text"
	spread_wire fair 1
	wire_clamp 261000
	# Connections by the thousand take long to open.
	for ((round = 0; round <= rounds && round <= 5; round++)); do
		progress "connections, round $round of at most 5"
		spread_run 1 0 1 "$spread_mib"
		base=("${costs[@]}")
		for n in 100 1000 10000; do
			spread_run 1 0 "$n" "$spread_mib"
			name=connections_$n
			spread_line "${name}_vs_1_together" "${costs[2]}" "${base[2]}" \
				"CPU time of NAPI thread and application; $long"
			spread_line "${name}_vs_1_app" "${costs[3]}" "${base[3]}" \
				"CPU time of the application; $long"
			spread_line "${name}_64k_vs_1_together" "${costs[0]}" "${base[0]}" \
				"CPU time of NAPI thread and application; $short"
			spread_line "${name}_64k_vs_1_app" "${costs[1]}" "${base[1]}" \
				"CPU time of the application; $short"
		done
	done
	wire_down
}

# message_run PATH COUNT: sets $rate.
message_run() {
	local share rc
	spawn receiver rcv recv.err sh -c "exec taskset -c $RCV_CORE '$out/message_bench' \
		recv $1 $2 $V4_RCV $port >'$TMP/result'"
	wait_listen rcv "$port" || die "messages: the receiver does not listen"
	spawn sender snd send taskset -c "$SND_CORE" "$out/message_bench" \
		send "$1" "$2" "$V4_RCV" "$port"
	reap "$sender" 120 || die "messages: the sender failed with exit code $?"
	reap "$receiver" 30
	rc=$?
	((rc)) && die "messages: the receiver failed with exit code $rc"
	read -r rate share <"$TMP/result"
	echo "messages_64 $1: $rate $share" >>"$TMP/spread"
	[[ $share > 0.95 ]] || say "bench: messages: only $share of the octets went direct"
}

messages() {
	local round ours text
	text="Sends of 64 octets on one connection, from the second eighth to the last; sender"
	text+=" and wire share one core; ours: the library at both ends, direct path, a call and a"
	text+=" completion for each message, several packed into a segment; other: plain sockets"
	text+=" with TCP_NODELAY, one write for each message, up to 256 KiB per recv, no XDP"
	text+=" program, GRO on; both: as many segments in flight as the wire's ring takes"
	wire_up fair 1500
	loaded=none
	for ((round = 0; round <= rounds; round++)); do
		progress "messages, round $round of $rounds"
		need_programs ours
		# A segment of the library has a socket buffer of its own, 2.7 KB in all; a plain socket's share larger
		# ones. Both have some 170 segments in flight then.
		wire_clamp 450000
		message_run direct $((mib * 3072))
		ours=$rate
		need_programs none
		wire_clamp 261000
		message_run plain $((mib * 3072))
		((round)) && echo "messages_64 1500 1 million/s $ours $rate $text" >>"$TMP/lines"
	done
	wire_down
}
