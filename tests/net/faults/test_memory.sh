#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Resources that run out: frames and rings of AF_XDP, the engine's time, memory, locked memory, file descriptors.
# Promised: data waits or is sent again, and arrives once and in order; a process that lacks a resource says so and
# names
# the remedy; a connection that cannot go on ends with an error at both ends, and the others go on. timeout: 300
. "${0%/*}/../lib/lib.sh"
. "${0%/*}/trouble.sh"

is_direct() { _on_path "$1" "$2" direct; }
says() { grep -q -- "$2" "$TMP/$1"; }
said() { wait_until "$LONG" says "$@"; }
# Frames that XDP could not put on the ring.
ring_drops() {
	in_ns rcv ethtool -S "$IF_RCV" |
		awk '/rx_queue_[0-9]+_drops:/ { n += $2 } END { print n + 0 }'
}
overflows() { (($(ring_drops) > $1)); }
cpu_ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }

wire_up plain
wire_clamp 262144
load || fail load "exit code $?"
receive B -P 15047 -k
transmit 9 -r 10 -P 15047
under_way B 9 kernel

# ---- frames and rings
# There are 256 frames, the ring takes 128 of them, and two senders have more in flight. The engine pauses at each
# message. Segments that find the ring full are lost, and TCP repairs that.
before=$(ring_drops)
receive A -f 256 -u 100
transmit 1
transmit 2
under_way A 1 direct
under_way A 2 direct
expect frames-ring-overflows wait_until "$LONG" overflows "$before"
expect frames-goes-on moves A 1
expect frames-goes-on-too moves A 2
expect frames-direct-again wait_until "$LONG" is_direct A 1
finishes frames-complete A 1
finishes frames-complete-too A 2
quit frames-receiver-ends A

# ---- the engine falls behind
# 2 ms for each message of 8 KiB, against a sender that is not held back by anything but the window.
receive A -u 2000
transmit 1
under_way A 1 direct
transmit 2 -m
expect behind-goes-on moves A 1
finishes behind-complete A 1
finishes behind-kernel-path-complete A 2
expect behind-other-process-goes-on moves B 9
quit behind-receiver-ends A

# ---- no file descriptor left
# The peer waits in the backlog, the application is told once, the engine does not spin, and other connections go on.
receive A
transmit 1 -r 1
under_way A 1 direct
kill -HUP "$RECV_A"
expect descriptors-gone said A "no more file descriptors"
transmit 2 -r 20
expect descriptors-told said A "not accepted: Too many open files"
ticks=$(cpu_ticks "$RECV_A")
expect descriptors-others-go-on moves A 1
ticks=$(($(cpu_ticks "$RECV_A") - ticks))
((ticks < 25)) && pass descriptors-no-spin ||
	fail descriptors-no-spin "$ticks ticks of a hundredth of a second"
expect descriptors-told-once test "$(grep -c '^not accepted' "$TMP/A")" = 1
kill -HUP "$RECV_A"
under_way A 2 direct
finishes descriptors-waited-complete A 2
finishes descriptors-complete A 1
no_trace descriptors-no-trace
quit descriptors-receiver-ends A

# ---- each single allocation fails
# once_without N: two connections at once, one of which is misaligned. At most one of them fails, both ends know, the
# other one is complete; or both are complete, and one has no direct path and says why.
once_without() {
	local rc1 rc2
	receive A -a "$1"
	transmit 1 -b 1
	transmit 2 -b 1 -m
	reap "$SEND_1" "$LONG"
	rc1=$?
	reap "$SEND_2" "$LONG"
	rc2=$?
	case $rc1$rc2 in
	00) ;;
	07 | 70)
		grep 'Cannot allocate memory' "$TMP/A" |
			grep -Eq '^(not accepted: |request . refused: |closed .*"error":")Cannot' ||
			return 1
		;;
	*) return 1 ;;
	esac
	stop "$RECV_A" && says A '^end,' || return 1
	((rc1)) || says A 'closed {"id":1,.*"octets":1048576,.*"status":0,' || return 1
	((rc2)) || says A 'closed {"id":2,.*"octets":1048576,.*"status":0,'
}
receive A
if says A without; then
	quit allocations-none A
	skip allocations "the sanitizers have an allocator of their own"
else
	transmit 1 -b 1
	transmit 2 -b 1 -m
	reap "$SEND_1" "$LONG" && reap "$SEND_2" "$LONG" ||
		fail allocations-none "$(cat "$TMP/send-1" "$TMP/send-2")"
	quit allocations-none A
	n=$(sed -n 's/^end, \([0-9]*\) allocations/\1/p' "$TMP/A")
	bad=0
	for ((i = 1; i <= n; i++)); do
		once_without "$i" && continue
		fail "allocation-$i" "$(cat "$TMP/send-1" "$TMP/send-2" "$TMP/A")"
		((bad++))
		stop "$RECV_A"
	done
	((n > 10 && !bad)) && pass "allocations ($n)" || fail allocations "$bad of $n"
fi
# ---- the table of flows is full
# The connection that finds no slot uses the kernel path, and says why. Here a process that never ends has the rest.
# The place of `engine` in struct xiw_flow, from the type information of the BPF object.
engine_at=$(bpftool btf dump file "$BUILD/bpf/xiwarp.bpf.o" |
	sed -n "/'ifindex'/{n;s/.*'engine' .*bits_offset=\([0-9]*\)/\1/p}")
((engine_at = 6 * 64 + engine_at / 8))
receive A
transmit 1 -r 20
under_way A 1 direct
# free_slots 1|0: those that are in nobody's hands are claimed by the receiver's engine, or by nobody again. Slots of an
# engine that does not live would be freed.
free_slots() {
	local used i value owner
	used=$(json | sed -n 's/.*"flows":\[{"index":\([0-9]*\).*/\1/p')
	read -ra owner < <(in_ns rcv bpftool -j map lookup pinned "$pins/xiw_flows" \
		key $((used & 255)) $((used >> 8)) 0 0 |
		sed 's/.*"value":\["\([^]]*\)"\].*/\1/; s/","/ /g')
	value=$(for ((i = 0; i < 512; i++)); do
		((i >= engine_at && i < engine_at + 4 && $1)) && printf '%d ' "${owner[i]}" ||
			printf '0 '
	done)
	for ((i = 0; i < 4096; i++)); do
		((i == used)) && continue
		echo "map update pinned $pins/xiw_flows key $((i & 255)) $((i >> 8)) 0 0 value" \
			"$value"
	done >"$TMP/batch"
	in_ns rcv bpftool batch file "$TMP/batch" >/dev/null
}
expect table-filled free_slots 1
transmit 2 -r 20
under_way A 2 kernel
expect table-full-told told A 2 "flow table of $IF_RCV: full"
expect table-full-others-direct stays_direct A 1
finishes table-full-complete A 2
expect table-emptied free_slots 0
transmit 2 -r 20
under_way A 2 direct
finishes table-again-direct A 2
finishes table-complete A 1
quit table-receiver-ends A

# ---- the index of flows is full
# Such a connection uses the kernel path alone, and may use any interface.
index_full() {
	local i zeros
	zeros=$(printf '0 %.0s' {1..34})
	for ((i = 0; i < 4096; i++)); do
		echo "map update pinned $pins/xiw_flow_index key $((i & 255)) $((i >> 8)) $zeros" \
			"value 0 0 0 0"
	done >"$TMP/batch"
	in_ns rcv bpftool batch file "$TMP/batch" >/dev/null
}
in_ns rcv "$xiwarp" unload "$IF_RCV" >/dev/null
in_ns rcv "$xiwarp" load "$IF_RCV" >/dev/null
expect index-filled index_full
mkdir -p "$TMP/in"
spawn server rcv serve.log "${traced[@]}" -f -o "$TMP/calls" -e trace=setsockopt \
	"$xiwarp" serve --once --listen $V4_RCV "$TMP/in"
wait_until "$LONG" _listens rcv 15044
expect index-full-put in_ns snd timeout "$LONG" "$xiwarp" put "$TMP/batch" $V4_RCV
reap "$server" "$LONG" || fail index-full-ends "exit code $?: $(cat "$TMP/serve.log")"
expect index-full-told grep -q "no direct path: socket of the connection" "$TMP/serve.log"
expect index-full-attached grep -q SO_ATTACH_BPF "$TMP/calls"
expect index-full-no-filter grep -q SO_DETACH_FILTER "$TMP/calls"
in_ns rcv "$xiwarp" unload "$IF_RCV" >/dev/null
in_ns rcv "$xiwarp" load "$IF_RCV" >/dev/null

# ---- limits from the start
# limited NAME CODE RESULT WORDS LIMIT: 'xiwarp serve', without the privilege that lifts the limit, ends with CODE;
# 'xiwarp put' then ends with RESULT; and one of the lines of serve has WORDS.
_listens_or_ended() { _listens rcv 15044 || _ended "$server"; }
limited() {
	local name=$1 code=$2 result=$3 words=$4 rc put
	rm -rf "$TMP/in"
	mkdir "$TMP/in"
	spawn server rcv serve.log prlimit "$5" setpriv --bounding-set=-ipc_lock \
		--inh-caps=-ipc_lock -- "$xiwarp" serve --once --listen $V4_RCV "$TMP/in"
	wait_until "$LONG" _listens_or_ended
	in_ns snd timeout "$LONG" "$xiwarp" put "$TMP/file" $V4_RCV >"$TMP/put.log" 2>&1
	put=$?
	reap "$server" "$LONG"
	rc=$?
	if ((rc != code || put != result)) || ! grep -q -- "$words" "$TMP/serve.log" ||
		{ ((!put)) && ! cmp "$TMP/file" "$TMP/in/file"; }; then
		fail "$name" "exit codes $rc, $put: $(cat "$TMP/serve.log" "$TMP/put.log")"
	else
		pass "$name"
	fi
}
random_file "$TMP/file" 2
# Locked memory counts for all processes of a user, and is freed some time after a process has ended. So its limits are
# tested first, and the one that suffices for an engine but not for a UMEM (16 MiB) suffices for several engines.
# Only io_uring locks memory for a ring; without, epoll takes its place.
limited limit-memlock-engine 0 0 "no direct path: .*; user 0's memlock" --memlock=16384
limited limit-memlock-no-direct 0 0 \
	"no direct path: .*(17 MiB; user 0's memlock is 4 in all)" --memlock=4194304
limited limit-descriptors-no-engine 1 7 "Too many open files: raise the limit on open files" \
	--nofile=4
limited limit-descriptors-no-file 0 7 "refused 'file': .*: Too many open files" --nofile=8
limited limit-descriptors-no-direct 0 0 "no direct path: .*Too many open files" --nofile=9
[[ $BUILD == */san ]] || limited limit-memory-no-direct 0 0 \
	"no direct path: .*Cannot allocate memory" --as=25000000
finishes other-process-complete B 9
quit other-process-ends B
finish
