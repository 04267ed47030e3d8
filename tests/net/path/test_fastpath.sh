#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The direct path allocates nothing, and makes system calls per batch, not per segment. The receiver (fastpath.c) counts
# during 256 MiB at MTU 1500, after a warm-up of 32 MiB; it waits in the engine, or for its descriptor. The sender is
# TCP with its congestion control, which decides how full batches are. timeout: 400
. "${0%/*}/../lib/lib.sh"

xiwarp=$BUILD/xiwarp tests=$BUILD/tests/net
mib=1048576
warm=$((32 * mib)) measured=$((256 * mib))
most=250 # system calls per 1000 segments

# stream ADDRESS NAME [epoll]: sets the fields of the receiver's report.
stream() {
	local receiver sender rc key

	spawn receiver rcv receiver sh -c "exec taskset -c $RCV_CORE '$tests/path/fastpath' \
		'$tests/path/fastpath.bpf.o' \
		$1 15044 0x77 $((16 * mib)) $warm $measured ${3-} >'$TMP/json'"
	if ! wait_listen rcv 15044; then
		fail "$2" "nobody listens: $(cat "$TMP/receiver")"
		return 1
	fi
	spawn sender snd sender "$tests/lib/sendto" -s 0x77 -t $((16 * mib)) -r 20 "$1" 15044
	reap "$sender" 100
	rc=$?
	((rc == 124)) && stop "$sender"
	((rc)) && fail "$2" "sender: exit code $rc: $(cat "$TMP/sender")"
	reap "$receiver" 10
	rc=$?
	((rc == 124)) && stop "$receiver"
	if ((rc)); then
		fail "$2" "receiver: exit code $rc: $(cat "$TMP/receiver")"
		return 1
	fi
	for key in control_allocations control_syscalls octets octets_kernel segments allocations \
		syscalls; do
		printf -v "$key" '%s' "$(field $key)"
	done
}

wire_up fair 1500
wire_clamp 262144
load_patient rcv || fail load "exit code $?"
pin_napi rcv "$RCV_CORE"

for v in v4 v6 epoll; do
	address=$V4_RCV wait=
	[[ $v == v6 ]] && address=$V6_RCV
	[[ $v == epoll ]] && wait=epoll
	# After a stall of this machine, XDP may have used the kernel path, and that was counted.
	for ((try = 1; try <= 5; try++)); do
		stream "$address" "$v" $wait || continue 2
		((octets_kernel)) || break
		echo "$v: $octets_kernel octets by the kernel path, $allocations allocations:" \
			"again"
	done
	# The counters must count: these are known allocations and calls.
	expect $v-counters [ "$control_allocations,$control_syscalls" = 3,100 ]
	# A message may end within the segment at which the count starts or stops.
	expect $v-direct [ "$octets" -ge $((measured - 2 * mib)) ]
	expect $v-segments [ "$segments" -ge $((octets / 1448)) ]
	expect $v-allocations [ "$allocations" = 0 ]
	echo "$v: $octets octets in $segments segments, $syscalls system calls:" \
		"$((syscalls * 1000 / segments)) per 1000 segments; $allocations allocations"
	if ((syscalls * 1000 < segments * most)); then
		pass $v-syscalls
	else
		fail $v-syscalls "$((syscalls * 1000 / segments)) per 1000 segments, by number:" \
			"$(sed -n 's/.*"by_number"://p' "$TMP/json")"
	fi
done
in_ns rcv "$xiwarp" unload "$IF_RCV" >/dev/null || fail unload "exit code $?"
finish
