#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The wires that all other tests in namespaces use. timeout: 240
. "${0%/*}/lib.sh"

# transfer NAME ADDRESS MIB [LEAST]: by plain TCP, every octet compared. On the fair wire, all octets must
# have gone through the program in the middle.
transfer() {
	local name=$1 address=$2 mib=$3 listener sender before=0 after rc

	random_file "$TMP/in" "$mib"
	[[ $_wire == fair ]] && read -r _ before _ <<<"$(wire_counts)"
	# The listener's output is its log.
	spawn listener rcv out "$BUILD/tests/net/lib/tcpcat" -l 4000
	if ! wait_listen rcv 4000; then
		fail "$name" "nobody listens: $(cat "$TMP/out")"
		return
	fi
	spawn sender snd sender sh -c "exec '$BUILD/tests/net/lib/tcpcat' $address 4000 <'$TMP/in'"
	reap "$sender" 30
	rc=$?
	if ((rc)); then
		fail "$name" "sender: exit code $rc: $(cat "$TMP/sender")"
		stop "$sender"
		stop "$listener"
		return
	fi
	reap "$listener" 5
	if ! cmp "$TMP/in" "$TMP/out"; then
		fail "$name" "octets differ"
		return
	fi
	if [[ $_wire == fair ]]; then
		read -r _ after lost <<<"$(wire_counts)"
		if ((after - before < mib * 1048576 || lost)); then
			fail "$name" "$((after - before)) octets through the middle, $lost lost"
			return
		fi
	fi
	pass "$name"
}

# A frame of the whole MTU, unfragmented.
ping_full() {
	local header=28
	[[ $1 == *:* ]] && header=48
	in_ns snd ping -q -c 2 -i 0.1 -W 2 -M do -s $((_mtu - header)) "$1"
}

checksums() {
	in_ns snd ethtool -k "$IF_SND" | grep -q '^tx-checksumming: off' &&
		in_ns snd ethtool -k "$IF_SND" | grep -q '^tcp-segmentation-offload: off' &&
		in_ns snd ethtool -k "$IF_SND" | grep -q '^generic-segmentation-offload: off' &&
		in_ns rcv ethtool -k "$IF_RCV" | grep -q '^generic-receive-offload: on'
}

# pinned SIDE CORE: there is a NAPI thread, and it stays on its core.
pinned() {
	local t
	t=$(napi_thread "$1")
	[[ -n $t && $(taskset -pc "$t") == *": $2" ]]
}

gone() {
	[[ -z $(ip netns list | grep "xiw-$1-") ]] &&
		! ls -d /sys/fs/bpf/xiw-wire-"$1" 2>/dev/null &&
		! compgen -G "/sys/class/net/$2*"
}

for kind in plain fair; do
	for mtu in 1500 9000; do
		wire_up $kind $mtu
		for address in $V4_RCV $V6_RCV; do
			expect "$kind-$mtu-ping-$address" ping_full $address
			transfer "$kind-$mtu-tcp-$address" $address 32
		done
		expect "$kind-$mtu-offloads" checksums
		if [[ $kind == fair ]]; then
			expect "$kind-$mtu-receiver-pinned" pinned rcv "$RCV_CORE"
			expect "$kind-$mtu-sender-pinned" pinned snd "$SND_CORE"
			wire_clamp 262144
			before=$(wire_drops)
			transfer "$kind-$mtu-tcp-clamped" $V4_RCV 128
			expect "$kind-$mtu-clamped-no-loss" [ "$(wire_drops)" = "$before" ]
		fi
		wire_down
		expect "$kind-$mtu-nothing-left" gone $$ "xw$(printf %x $$)"
	done
done

# A sysctl applies to its namespace only.
wire_up plain
tcp_timestamps rcv 0
tcp_sack rcv 0
expect sysctl-rcv in_ns rcv grep -qx 0 /proc/sys/net/ipv4/tcp_timestamps
expect sysctl-snd in_ns snd grep -qx 1 /proc/sys/net/ipv4/tcp_timestamps
expect sysctl-sack in_ns rcv grep -qx 0 /proc/sys/net/ipv4/tcp_sack
wire_down

# An interrupted script leaves no namespace, pin, process or file.
interrupted() { # SIGNAL CODE
	local pid child rc

	spawn pid host "script-$1" bash -c ". '$ROOT/tests/net/lib/lib.sh'; wire_up fair 1500
		spawn p rcv sleeper sleep 1000; echo \"child \$p\"; reap \$p 1000"
	if ! wait_until 20 grep -q '^child ' "$TMP/script-$1"; then
		cat "$TMP/script-$1"
		return 1
	fi
	child=$(sed -n 's/^child //p' "$TMP/script-$1")
	kill -"$1" "$pid"
	reap "$pid" 10
	rc=$?
	((rc == $2)) || echo "exit code $rc"
	((rc == $2)) && ! kill -0 "$child" 2>/dev/null && gone "$pid" "xw$(printf %x "$pid")" &&
		! compgen -G "/tmp/xiw-$pid.*"
}
expect interrupted-INT interrupted INT 130
expect interrupted-TERM interrupted TERM 143

# A killed script leaves things, and the next script removes them.
killed() {
	local pid
	spawn pid host script-KILL bash -c ". '$ROOT/tests/net/lib/lib.sh'
		wire_up plain
		echo ready
		exec sleep 1000"
	wait_until 20 grep -q '^ready' "$TMP/script-KILL" || return
	stop "$pid" KILL
	[[ -e /run/netns/xiw-$pid-snd ]] || return
	rm -rf "/tmp/xiw-$pid."*
	bash -c ". '$ROOT/tests/net/lib/lib.sh'"
	gone "$pid" "xw$(printf %x "$pid")"
}
expect killed-is-swept killed

finish
