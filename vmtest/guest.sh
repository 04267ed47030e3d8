# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# A VM reads this before the scenario (see vmtest/vm). A scenario defines guest(), and peer() if it has a NIC; both
# print PASS, FAIL and SKIP lines like tests. guest() may print `SHARE text` for the table at the end: how much of the
# payload came on the direct path.
mkdir -p /run/netns /run/lock
ip link set lo up
modprobe veth

# The NIC that vmtest/vm describes.
if ((QUEUES)); then
	modprobe "$NIC"
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

# In a subshell, so that the scenario may exit.
scenario() (
	# shellcheck disable=SC1090
	. "$1" && guest && ((_failures == 0))
)
