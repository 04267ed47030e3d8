# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Read in a VM by what vmtest/vm has it start, before a scenario. A scenario defines guest(), and peer() if it has
# a NIC; both print PASS, FAIL and SKIP lines as tests do. For the table at the end guest() may say
# `SHARE text`: how much of the payload came by the direct path.
mkdir -p /run/netns /run/lock
ip link set lo up
modprobe veth

# The NIC, as vmtest/vm says.
if ((QUEUES)); then
	modprobe virtio_net
	for ((_i = 0; _i < 100; _i++)); do
		[[ -e /sys/class/net/eth0 ]] && break
		sleep 0.1
	done
	echo 0 >/proc/sys/net/ipv6/conf/eth0/accept_dad
	ip link set eth0 mtu "$MTU" up
	ip addr add 10.77.0.2/24 dev eth0
	ip addr add fd77::2/64 dev eth0 nodad
fi
RESULTS=/results
. vmtest/common.sh

# In a shell of its own, which it may leave.
scenario() (
	# shellcheck disable=SC1090
	. "$1" && guest && ((_failures == 0))
)
