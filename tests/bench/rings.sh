# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Sourced by `run`: engines that wait by epoll, as where io_uring is refused, against those with io_uring. How many
# instructions each takes is a matter of `make bench-vm` (tests/bench/vm_rings). Rounds become lines of $TMP/lines.

# long_messages RING: sets $ns.
long_messages() {
	wire_clamp "$in_flight"
	XIWARP_RING=$1 run_case direct 64
	read_result
}

# short_messages RING: sets $rate. As many segments are in flight as in messages().
short_messages() {
	wire_clamp 450000
	XIWARP_RING=$1 message_run direct $((mib * 3072))
}

rings() {
	local round rate ours gbit ns mtu=1500 in_flight text
	text="direct path; sender and wire share one core; ours: epoll at both ends; other:"
	text+=" io_uring at both ends;"
	fair_wire
	need_programs ours
	for ((round = 0; round <= rounds; round++)); do
		progress "epoll and io_uring, round $round of $rounds"
		long_messages epoll
		ours=$ns
		long_messages io_uring
		((round)) && echo "epoll_vs_io_uring 1500 64 ns/octet $ours $ns $text NAPI" \
			"thread and application of the receiver; messages of 1 MiB" >>"$TMP/lines"
		short_messages epoll
		ours=$rate
		short_messages io_uring
		((round)) && echo "epoll_vs_io_uring_64 1500 1 million/s $ours $rate $text Sends" \
			"of 64 octets on one connection" >>"$TMP/lines"
	done
	wire_down
}
