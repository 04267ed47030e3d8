# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Interfaces on which no connection can go direct: bonds, VRFs and their members, VLANs whose tags the hardware strips.
# Loading is refused with a reason in one line. Programs that were loaded before do no harm: connections take the
# kernel path, in a VRF too. limit: 400

# refused NAME WORDS IF
refused() {
	local rc out
	out=$("$BUILD/xiwarp" load "$3" 2>&1)
	rc=$?
	expect "$1" [ "$rc" != 0 ]
	expect "$1-says" grep -qF -- "$2" <<<"$out"
	expect "$1-one-line" [ "$(wc -l <<<"$out")" = 1 ]
	echo "$out"
}

# transfers NAME NAMESPACE: sends a file from namespace snd to NAMESPACE, whose interface is ready.
transfers() {
	local server rc
	mkdir -p "/tmp/$1"
	head -c 3000000 /dev/urandom >"/tmp/file-$1"
	nsenter --net="/run/netns/$2" -- "$BUILD/xiwarp" serve --once --json "/tmp/$1" \
		>"/tmp/$1.json" 2>&1 &
	server=$!
	listening 15044 "nsenter --net=/run/netns/$2"
	patiently 60 nsenter --net=/run/netns/snd -- "$BUILD/xiwarp" put "/tmp/file-$1" 10.9.0.2
	rc=$?
	kill -INT $server 2>/dev/null
	wait $server
	cat "/tmp/$1.json"
	expect "$1" [ "$rc" = 0 ]
	expect "$1-octets" cmp "/tmp/file-$1" "/tmp/$1/file-$1"
}

guest() {
	local m
	for m in bonding vrf 8021q veth dummy; do
		modprobe "$m" 2>/dev/null
	done
	mkdir -p /run/netns
	ip netns add snd
	ip netns add rcv
	ip link add s0 netns snd type veth peer name r0 netns rcv
	ip -n snd addr add 10.9.0.1/24 dev s0
	ip netns exec snd ethtool -K s0 tx off tso off gso off
	ip -n snd link set s0 up
	ip -n rcv link set lo up

	if ip link add bond9 type bond; then
		refused bond "bond9 is a bond: AF_XDP gets no frames there" bond9
		ip link del bond9
	else
		expect bond-module false
	fi
	if ip link add v0 type veth peer name v1 && ip link add link v0 name v0.7 type vlan id 7 &&
		ethtool -K v0 rxvlan on; then
		refused vlan "v0 has VLANs, and strips their tags: ethtool -K v0 rxvlan off" v0
		ethtool -K v0 rxvlan off
		expect vlan-with-tags "$BUILD/xiwarp" load v0
		expect vlan-unload "$BUILD/xiwarp" unload v0
	else
		expect vlan-module false
	fi
	if ip link add vrf9 type vrf table 99; then
		ip link set vrf9 up
		refused vrf "vrf9 is a VRF" vrf9
		ip link add w0 type veth peer name w1
		ip link set w0 master vrf9
		refused in-vrf "w0 is in a VRF" w0
	else
		expect vrf-module false
	fi

	# The interface moves into a VRF after the load. The listener, in the default VRF, accepts from all.
	ip -n rcv addr add 10.9.0.2/24 dev r0
	ip -n rcv link set r0 up
	expect load-before nsenter --net=/run/netns/rcv -- "$BUILD/xiwarp" load r0
	transfers before-vrf rcv
	ip -n rcv link add vrf8 type vrf table 98
	ip -n rcv link set vrf8 up
	ip -n rcv link set r0 master vrf8
	ip netns exec rcv sysctl -qw net.ipv4.tcp_l3mdev_accept=1
	transfers in-vrf-kernel rcv
	expect in-vrf-says grep -q "r0 is in a VRF" /tmp/in-vrf-kernel.json
	expect unload nsenter --net=/run/netns/rcv -- "$BUILD/xiwarp" unload r0
}
