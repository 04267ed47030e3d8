# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# For scenarios with a NIC: what xiwarp does on it, and what other programs of the host see meanwhile. guest() calls
# NAME, and peer() NAME_peer.
#
#   transfer       files, over IPv4 and IPv6, most of them on the direct path
#   beside         other people's TCP, UDP and pings, of all lengths; no frame within a frame is taken for one
#   tags           segments that come with the tag of another VLAN count on neither path
#   stripping      a driver that begins to strip tags has its connections on the kernel path, until it stops; load makes
#                  it stop, and unload puts that back as it was
#   joins          what the NIC joins (LRO) passes XDP by on some drivers: load turns it off, and it stays off when the
#                  driver is reset; whoever turns it on in mid-transfer ends no connection
#   anew           the driver gives the NIC up and takes it again; one load is enough
#   mtu            the MTU of the VM's interface grows while a receiver is bound, and the wire's with it
#
# ZERO_COPY names the kernel whose driver receives without a copy; beside checks that it does.
. vmtest/file.sh
TRAFFIC="python3 vmtest/traffic.py"
MAC_GUEST=52:54:00:77:00:02

# A receiver in the background, whose reports are in $RESULTS/$1.json. Sets `server`.
bind_receiver() { # NAME OPTION...
	mkdir -p "/tmp/$1"
	"$BUILD/xiwarp" serve --json "${@:2}" "/tmp/$1" >"$RESULTS/$1.json" 2>"$RESULTS/$1.log" &
	server=$!
	listening 15044
}

end_receiver() { # NAME
	kill -INT $server
	wait $server
	cat "$RESULTS/$1.log" "$RESULTS/$1.json"
}

# sent NAME OPTION...: in the peer, of the file $RESULTS/file
sent() {
	patiently 60 "$BUILD/xiwarp" put "${@:2}" "$RESULTS/file" "$V4_GUEST"
	expect "$1" [ $? = 0 ]
}

random() { # BYTES
	head -c "$1" /dev/urandom >"$RESULTS/file"
}

transfer() {
	receive_files 2
	direct_above 50
}

transfer_peer() {
	send_files 2 4
}

# The kernel answers pings, and programs answer the rest.
others() { # NAME
	local length lost=()
	for length in 56 980 983 1100 1400 1472; do
		ping -q -c 6 -i 0.2 -W 2 -s $length "$V4_GUEST" >"$RESULTS/ping-$1-$length"
		grep -q ' 0 received' "$RESULTS/ping-$1-$length" && lost+=("$length")
	done
	expect "$1-pings" [ "${lost[*]}" = "" ]
	expect "$1-datagrams" patiently 20 $TRAFFIC udp "$V4_GUEST" 1 900 983 1024 1200 1472 5000
	expect "$1-stream" patiently 20 $TRAFFIC tcp "$V4_GUEST" 2000000
}

beside() {
	bind_receiver beside
	$TRAFFIC catch 7777 /tmp/caught &
	pids+=($!)
	say beside
	meet beside-done 100
	expect beside-inner [ ! -e /tmp/caught ]
	[[ ! -e /tmp/caught ]] || cat /tmp/caught
	"$BUILD/xiwarp" status eth0
	end_receiver beside
	[[ $KERNEL_DIR != */${ZERO_COPY:-none} ]] ||
		expect beside-zero-copy grep -q '"zero_copy":true' "$RESULTS/beside.json"
}

beside_peer() {
	local at
	meet beside 100
	others beside
	# Where a NIC might cut a frame that does not fit in its buffers.
	for at in 256 512 768 1024 1280; do
		$TRAFFIC inner "$IF_PEER" "$V4_PEER" "$V4_GUEST" "$MAC_GUEST" 7777 $at
	done
	random 2000000
	sent beside-put --peer-timeout 20
	others beside-after
	say beside-done
}

# The bytes of the newest connection, on either path.
count_bytes() {
	"$BUILD/xiwarp" status --json eth0 |
		grep -oE '"octets_(direct|kernel)": ?[0-9]+' | grep -oE '[0-9]+$' | paste -sd+ | bc
}

goes_direct() {
	local i
	for ((i = 0; i < 300; i++)); do
		"$BUILD/xiwarp" status --json eth0 | grep -q '"path": *"direct"' && return
		sleep 0.1
	done
	return 1
}

# tagged NAME: while all segments are tagged, no byte of a connection arrives.
tagged() {
	local before after
	bind_receiver "$1"
	say "$1"
	expect "$1-direct" goes_direct
	say "$1-tag"
	meet "$1-tagged"
	# What was on the way before.
	sleep 1
	before=$(count_bytes)
	sleep 2
	after=$(count_bytes)
	expect "$1" [ "$before" = "$after" ]
	say "$1-untag"
	meet "$1-done" 100
	end_receiver "$1"
}

tagged_peer() {
	local put
	meet "$1" 100
	sent "$1-put" &
	put=$!
	meet "$1-tag"
	expect "$1-filter" tc filter add dev "$IF_PEER" egress \
		bpf da obj "$BUILD/tests/net/lib/tag.bpf.o" sec tc
	say "$1-tagged"
	meet "$1-untag"
	tc filter del dev "$IF_PEER" egress
	wait $put
	say "$1-done"
}

# Promiscuous, as with tcpdump: a NIC then filters no VLAN. Or the VLAN is another network namespace's.
tags() {
	modprobe 8021q
	ip link set eth0 promisc on
	tagged tags-promiscuous
	ip link set eth0 promisc off
	ip netns add other
	ip link add link eth0 name eth0.7 type vlan id 7
	ip link set eth0.7 netns other
	ip -n other link set eth0.7 up
	tagged tags-of-another-namespace
	ip netns del other
}

tags_peer() {
	tc qdisc add dev "$IF_PEER" root tbf rate 10mbit burst 32k latency 100ms
	tc qdisc add dev "$IF_PEER" clsact
	random 12000000
	tagged_peer tags-promiscuous
	tagged_peer tags-of-another-namespace
	tc qdisc del dev "$IF_PEER" root
	tc qdisc del dev "$IF_PEER" clsact
}

# has_rxvlan on|off
has_rxvlan() {
	[[ $(ethtool -k eth0 | sed -n 's/^rx-vlan-offload: \([a-z]*\).*/\1/p') == "$1" ]]
}

stripping() {
	local reports
	expect stripping-off has_rxvlan off
	bind_receiver stripping --force
	say stripping
	expect stripping-direct goes_direct
	ethtool -K eth0 rxvlan on
	meet stripping-sent 100
	say stripping-again
	meet stripping-kernel 100
	ethtool -K eth0 rxvlan off
	sleep 2
	say stripping-over
	meet stripping-done 100
	end_receiver stripping
	reports=$RESULTS/stripping.json
	expect stripping-leaves \
		grep -qE '"left_direct":\{[^}]*"(VLAN tags stripped|watchdog)":' "$reports"
	expect stripping-says grep -q '"octets_direct":0,.*strips VLAN tags' "$reports"
	expect stripping-returns [ "$(grep -c '"file".*"octets_direct":[1-9]' "$reports")" = 2 ]
	expect stripping-unload "$BUILD/xiwarp" unload eth0
	expect stripping-restored has_rxvlan on
	# The load fails after it has turned rxvlan off.
	(ulimit -n 10 && "$BUILD/xiwarp" load eth0)
	expect stripping-load-fails [ $? != 0 ]
	expect stripping-undone has_rxvlan on
	expect stripping-load "$BUILD/xiwarp" load eth0
	expect stripping-off-again has_rxvlan off
}

stripping_peer() {
	random 12000000
	tc qdisc add dev "$IF_PEER" root tbf rate 10mbit burst 32k latency 100ms
	meet stripping 100
	sent stripping-put
	say stripping-sent
	tc qdisc del dev "$IF_PEER" root
	random 1000000
	meet stripping-again
	sent stripping-put-kernel
	say stripping-kernel
	meet stripping-over
	sent stripping-put-direct
	say stripping-done
}

joins() {
	local reports=$RESULTS/joins.json
	bind_receiver joins --force
	say joins
	expect joins-direct goes_direct
	ethtool -G eth0 rx 1024
	meet joins-reset 100
	say joins-again
	meet joins-again-sent 100
	say joins-on
	expect joins-on-direct goes_direct
	ethtool -K eth0 lro on
	meet joins-on-sent 100
	ethtool -k eth0 | grep large
	"$BUILD/xiwarp" status eth0
	say joins-last
	meet joins-done 100
	ethtool -K eth0 lro off
	end_receiver joins
	expect joins-all [ "$(grep -c '"digest_equal":true' "$reports")" = 4 ]
	expect joins-after-reset [ "$(grep -c '"octets_direct":[1-9].*"digest"' "$reports")" -ge 3 ]
}

joins_peer() {
	random 12000000
	tc qdisc add dev "$IF_PEER" root tbf rate 20mbit burst 128k latency 100ms
	meet joins 100
	sent joins-put
	say joins-reset
	meet joins-again
	sent joins-put-again
	say joins-again-sent
	meet joins-on
	sent joins-put-on
	say joins-on-sent
	meet joins-last
	sent joins-put-last
	say joins-done
	tc qdisc del dev "$IF_PEER" root
}

anew() {
	local device driver
	device=$(basename "$(readlink /sys/class/net/eth0/device)")
	driver=/sys/bus/pci/drivers/$NIC
	echo "$device" >"$driver/unbind"
	echo "$device" >"$driver/bind"
	while [[ ! -e /sys/class/net/eth0 ]]; do
		sleep 0.1
	done
	expect anew-load "$BUILD/xiwarp" load eth0
	expect anew-once [ "$("$BUILD/xiwarp" status | grep -c eth0)" = 1 ]
}

mtu() {
	bind_receiver mtu
	if ip link set eth0 mtu 9000 2>"$RESULTS/mtu.refused"; then
		say mtu 9000
		meet mtu-done 100
	else
		skip mtu "the driver refuses a larger MTU: $(<"$RESULTS/mtu.refused")"
		say mtu 1500
	fi
	"$BUILD/xiwarp" status eth0
	end_receiver mtu
	ip link set eth0 mtu 1500
}

anew_peer() {
	:
}

mtu_peer() {
	[[ $(meet mtu 100) == 9000 ]] || return
	ip link set "$IF_PEER" mtu 9000
	random 2000000
	ping -q -c 6 -i 0.2 -W 2 -M do -s 8900 "$V4_GUEST" >"$RESULTS/ping-mtu"
	expect mtu-pings grep -q ' [1-9][0-9]* received' "$RESULTS/ping-mtu"
	expect mtu-stream patiently 20 $TRAFFIC tcp "$V4_GUEST" 2000000
	sent mtu-put --peer-timeout 20
	say mtu-done
	ip link set "$IF_PEER" mtu 1500
}

# The scenario's steps, in this order, on programs that are loaded once.
steps() {
	local step pids=()
	$TRAFFIC serve &
	pids+=($!)
	listening 5001
	say ready
	ethtool -i eth0
	expect load "$BUILD/xiwarp" load eth0
	"$BUILD/xiwarp" status eth0
	for step; do
		"$step"
	done
	kill "${pids[@]}"
	expect unload "$BUILD/xiwarp" unload eth0
}

steps_peer() {
	local step
	meet ready 120
	for step; do
		"${step}_peer"
	done
}
