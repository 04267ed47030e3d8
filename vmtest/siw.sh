# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# A wire with siw at one end, in this namespace, and ours at the other end, in the namespace `ours`. siw has 10.88.0.1
# and fd88::1, ours has 10.88.0.2 and fd88::2.
#
#   siw_up            make the wire, load our programs and siw
#   in_ours CMD...    run CMD in our namespace
#   ended PID         wait for the process; stop it if it does not end
in_ours() {
	nsenter --net=/run/netns/ours -- "$@"
}

siw_up() {
	local m
	# Changes only this VM, whose root is in memory. The scenarios test with CRCs and without.
	echo "crc optional" >/etc/xiwarp.conf
	ip netns add ours
	ip link add sw0 type veth peer name ours0 netns ours
	# Segments as on a real wire: with full checksums, and none larger than the MTU.
	ethtool -K sw0 tx off tso off gso off >/dev/null
	in_ours ethtool -K ours0 tx off tso off gso off >/dev/null
	echo 0 >/proc/sys/net/ipv6/conf/sw0/accept_dad
	ip addr add 10.88.0.1/24 dev sw0
	ip addr add fd88::1/64 dev sw0 nodad
	in_ours ip addr add 10.88.0.2/24 dev ours0
	in_ours ip addr add fd88::2/64 dev ours0 nodad
	in_ours ip link set lo up
	in_ours ip link set ours0 up
	ip link set sw0 up
	expect load in_ours "$BUILD/xiwarp" load ours0
	for m in ib_core iw_cm ib_uverbs rdma_ucm libcrc32c crc32c_generic; do
		modprobe -q $m
	done
	expect insmod insmod "$KERNEL_DIR/siw.ko"
	expect link rdma link add siw0 type siw netdev sw0
	rdma link show
}

ended() {
	local i
	for ((i = 0; i < 100 * XIW_PATIENCE; i++)); do
		kill -0 "$1" 2>/dev/null || break
		sleep 0.1
	done
	kill -INT "$1" 2>/dev/null
	wait "$1"
}
