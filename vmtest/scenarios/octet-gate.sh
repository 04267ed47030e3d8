# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The cases of octet-cost in which our code runs, at an MTU of 1500, for `make bench-vm QUICK=1`. With fewer, and
# without plain TCP, the NAPI threads could not be told from each other by what each case costs them. For messages of 64
# octets there is one case of each path, and what compares the rings is measured once: its limits are further off than
# what runs differ by.
# limit: 420, memory: 3072, instructions: 1, bench: 1, kernels: newest
. vmtest/scenarios/octet-cost.sh

guest() {
	wire_up
	echo 1 >/proc/sys/net/core/bpf_jit_kallsyms
	"$BUILD/bench/vm_mark" libc >"$RESULTS/libc"
	uname -r >"$RESULTS/kernel"
	mtu_is 1500
	thrice received plain_tcp plain
	thrice received kernel kernel
	received kernel_epoll kernel
	messages messages kernel
	messages messages_epoll kernel
	expect "load-1500" "$BUILD/xiwarp" load --mode native eth0
	thrice direct direct_zero_copy direct true
	thrice direct direct_copy copy false
	direct direct_copy_epoll copy false
	trips trips_direct direct
	trips trips_direct_epoll direct
	expect "unload-1500" "$BUILD/xiwarp" unload eth0
	senders 1500
	cat "$RESULTS/cases"
}
