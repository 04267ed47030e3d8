# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# A peer's frames that come by another link than the one that has the address and the programs: by a macvlan on the
# interface, as its MAC address stands in the peer's neighbour table, and by a VLAN on it. The kernel accepts both.
# limit: 300

# reception NAME: starts a sink, whose report is in /tmp/NAME.
reception() {
	nsenter --net=/run/netns/rcv -- "$BUILD/xiwarp" sink --once --json --stag 0x1234 \
		--listen 10.9.0.2 >"/tmp/$1" 2>&1 &
	sink=$!
	listening 15044 "nsenter --net=/run/netns/rcv"
}

# sends OCTETS [OPTION...]: in the background
sends() {
	patiently 60 nsenter --net=/run/netns/snd -- "$BUILD/tests/net/lib/sendto" -t "$1" \
		-l 1-100000 -u 40 "${@:2}" 10.9.0.2 15044 &
	sender=$!
}

# ends NAME RC: the sender ends so; shows the report.
ends() {
	wait $sender
	expect "$1" [ $? = "$2" ]
	kill -INT $sink 2>/dev/null
	wait $sink
	cat "/tmp/$1"
}

goes_direct() {
	local i
	for ((i = 0; i < 100 * XIW_PATIENCE; i++)); do
		nsenter --net=/run/netns/rcv -- "$BUILD/xiwarp" status --json |
			grep -q '"path":"direct"' && return
		sleep 0.1
	done
	return 1
}

guest() {
	local m sink sender shim
	for m in macvlan 8021q veth; do
		modprobe "$m" 2>/dev/null
	done
	ip netns add snd
	ip netns add rcv
	ip link add s0 netns snd type veth peer name r0 netns rcv
	ip netns exec snd ethtool -K s0 tx off tso off gso off txvlan off rxvlan off
	ip netns exec rcv ethtool -K r0 rxvlan off txvlan off
	ip -n snd link set s0 up
	ip -n rcv link set r0 up
	ip -n snd link set lo up
	ip -n rcv link set lo up
	ip -n snd addr add 10.9.0.1/24 dev s0
	ip -n rcv addr add 10.9.0.2/24 dev r0
	expect load nsenter --net=/run/netns/rcv -- "$BUILD/xiwarp" load r0

	if ip -n rcv link add link r0 name shim type macvlan mode bridge; then
		ip -n rcv addr add 10.9.0.3/32 dev shim
		ip -n rcv link set shim up
		shim=$(ip -n rcv -br link show shim | awk '{print $3}')
		ip -n snd neigh replace 10.9.0.2 lladdr "$shim" dev s0 nud permanent
		reception macvlan
		sends 2000000
		ends macvlan 0
		ip -n snd neigh del 10.9.0.2 dev s0
		ip -n rcv link del shim
	else
		expect macvlan-module false
	fi

	# The connection is direct when the peer's route changes.
	if ip -n snd link add link s0 name s5 type vlan id 5 &&
		ip -n rcv link add link r0 name r5 type vlan id 5; then
		ip netns exec snd ethtool -K s5 tx off tso off gso off
		ip -n snd addr add 10.8.0.1/24 dev s5
		ip -n rcv addr add 10.8.0.2/24 dev r5
		ip -n snd link set s5 up
		ip -n rcv link set r5 up
		ip -n snd addr add 10.7.0.1/32 dev lo
		ip -n snd route replace 10.9.0.2/32 dev s0 src 10.7.0.1
		ip -n rcv route replace 10.7.0.1/32 via 10.9.0.1
		reception vlan
		sends 100000 -w /tmp/never
		expect vlan-direct goes_direct
		ip -n snd route replace 10.9.0.2/32 via 10.8.0.2 src 10.7.0.1
		ip -n rcv route replace 10.7.0.1/32 via 10.8.0.1
		ends vlan 1
		expect vlan-says grep -q 'do not come by r0 any more' /tmp/vlan
	else
		expect vlan-module false
	fi
	expect unload nsenter --net=/run/netns/rcv -- "$BUILD/xiwarp" unload r0
}
