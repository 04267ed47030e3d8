# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# For scenarios with a NIC, beside vmtest/nic.sh: what an administrator does to the NIC while a file comes on the direct
# path. The file arrives whole, as by plain TCP, and the next one goes direct. What the driver refuses is skipped.
#
#   changes   each of CHANGES (default: all), which are the functions change_NAME
#   replaced  the NIC goes and comes back, by its driver and by its slot: both ends are told, and after `load` the next
#             connection goes direct
CHANGES=${CHANGES:-ring channels hash checksums segments gro mtu link}

change_ring() {
	ethtool -G eth0 rx 128 && sleep 1 && ethtool -G eth0 rx 256
}

change_channels() {
	local most
	most=$(ethtool -l eth0 | awk '/^Combined/ { print $2; exit }')
	((most > 1)) || { echo "it has one channel"; return 1; }
	ethtool -L eth0 combined 1 && sleep 1 && ethtool -L eth0 combined 2
}

change_hash() {
	ethtool -X eth0 equal 1 && sleep 1 && ethtool -X eth0 default
}

switched() { # FEATURE...
	local feature
	for feature; do
		ethtool -K eth0 "$feature" off && sleep 1 && ethtool -K eth0 "$feature" on || return
	done
}
change_checksums() { switched rx tx; }
change_segments() { switched sg tso; }
change_gro() { switched gro; }

change_mtu() {
	ip link set eth0 mtu 1400 && sleep 1 && ip link set eth0 mtu 1500
}

change_link() {
	ip link set eth0 down && sleep 1 && ip link set eth0 up
	ip addr add fd77::2/64 dev eth0 nodad 2>/dev/null
	return 0
}

last_is_direct() { # REPORTS
	[[ $(grep '"file"' "$1" | tail -n 1) == *'"octets_direct":'[1-9]* ]]
}

changed() { # NAME
	local reports=$RESULTS/change-$1.json refused=
	bind_receiver "change-$1" --force
	say "change-$1"
	expect "change-$1-direct" goes_direct
	"change_$1" >"$RESULTS/change-$1.refused" 2>&1 || refused=1
	meet "change-$1-sent" 100
	say "change-$1-again"
	meet "change-$1-done" 100
	end_receiver "change-$1"
	if [[ $refused ]]; then
		skip "change-$1" "the driver refuses it: $(head -n 1 "$RESULTS/change-$1.refused")"
	fi
	expect "change-$1-whole" [ "$(grep -c '"digest_equal":true' "$reports")" = 2 ]
	expect "change-$1-direct-again" last_is_direct "$reports"
}

changed_peer() { # NAME
	random 12000000
	meet "change-$1" 100
	tc qdisc add dev "$IF_PEER" root tbf rate 16mbit burst 32k latency 100ms
	sent "change-$1-put"
	say "change-$1-sent"
	random 4000000
	meet "change-$1-again" 100
	sent "change-$1-put-again"
	tc qdisc del dev "$IF_PEER" root
	say "change-$1-done"
}

changes() {
	local change
	for change in $CHANGES; do
		changed "$change"
	done
}

changes_peer() {
	local change
	for change in $CHANGES; do
		changed_peer "$change"
	done
}

by_driver() {
	local driver=/sys/bus/pci/drivers/$NIC
	[[ $NIC != virtio_net ]] || driver=/sys/bus/virtio/drivers/virtio_net
	echo "$1" >"$driver/unbind"
	sleep 1
	echo "$1" >"$driver/bind"
}

by_slot() {
	local slot
	slot=$(readlink -f "/sys/class/net/eth0/device")
	[[ $NIC != virtio_net ]] || slot=${slot%/*}
	echo 1 >"$slot/remove"
	sleep 1
	echo 1 >/sys/bus/pci/rescan
}

replaced() {
	local how device i
	for how in by_driver by_slot; do
		device=$(basename "$(readlink /sys/class/net/eth0/device)")
		bind_receiver $how --force
		say $how
		expect $how-direct goes_direct
		$how "$device"
		for ((i = 0; i < 100; i++)); do
			[[ -e /sys/class/net/eth0 ]] && break
			sleep 0.1
		done
		ip link set eth0 mtu "$MTU" up
		ip addr add 10.77.0.2/24 dev eth0
		ip addr add fd77::2/64 dev eth0 nodad
		expect $how-load "$BUILD/xiwarp" load eth0
		say $how-back
		meet $how-ended 100
		end_receiver $how
		expect $how-told grep -q 'eth0 has gone: when it is back' "$RESULTS/$how.log"
		bind_receiver $how-again --force
		say $how-again
		meet $how-done 100
		end_receiver $how-again
		expect $how-direct-again grep -q '"octets_direct":[1-9]' "$RESULTS/$how-again.json"
	done
}

replaced_peer() {
	local how put
	for how in by_driver by_slot; do
		random 12000000
		meet $how 100
		tc qdisc add dev "$IF_PEER" root tbf rate 16mbit burst 32k latency 100ms
		patiently 60 "$BUILD/xiwarp" put --peer-timeout 10 "$RESULTS/file" "$V4_GUEST" &
		put=$!
		meet $how-back 100
		wait $put
		expect $how-put-told [ $? = 7 ]
		say $how-ended
		random 4000000
		meet $how-again 100
		sent $how-put-again
		tc qdisc del dev "$IF_PEER" root
		say $how-done
	done
}
