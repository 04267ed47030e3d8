#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Standard tools handle the BPF object: bpftool and tc load, attach, show and remove it.
set -u
name=load
obj=${XIW_BPF_OBJ:-${XIW_BUILD:-build}/bpf/xiwarp.bpf.o}
ns=xiwload$$

# Runs in its own mount namespace, so that the pins disappear when the script ends.
if [ -z "${XIW_LOAD_INNER:-}" ]; then
	[ "$(id -u)" = 0 ] || { echo "SKIP $name: needs root"; exit 0; }
	PATH=$PATH:/usr/sbin:/sbin
	for tool in bpftool ip tc unshare; do
		command -v $tool >/dev/null || { echo "SKIP $name: $tool is missing"; exit 0; }
	done
	export PATH
	XIW_LOAD_INNER=1 exec unshare -m --propagation private sh "$0"
fi

log=$(mktemp)
failed=0
cleanup() {
	ip netns del "$ns" 2>/dev/null
	rm -f "$log"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

check() {
	what=$1
	shift
	if "$@" >"$log" 2>&1; then
		echo "PASS $name: $what"
	else
		echo "FAIL $name: $what"
		sed 's/^/  /' "$log"
		failed=1
	fi
}

# Not `ip netns exec`, which would mount a /sys without bpffs.
in_ns() {
	nsenter --net="/run/netns/$ns" "$@"
}

shows() {
	file=$1
	shift
	in_ns "$@" >"$log.out" 2>&1
	grep -q "$file" "$log.out" || { cat "$log.out"; rm -f "$log.out"; return 1; }
	rm -f "$log.out"
}

hides() {
	! shows "$@"
}

ip netns add "$ns" || { echo "FAIL $name: cannot make a network namespace"; exit 1; }
mount -t bpf bpf /sys/fs/bpf || { echo "FAIL $name: cannot mount bpffs"; exit 1; }
pin=/sys/fs/bpf/xiwarp
mkdir $pin

check "bpftool loads both programs and pins the maps" \
	bpftool prog loadall "$obj" $pin pinmaps $pin
for m in xiw_flows xiw_taken xiw_flow_index xiw_queues xiw_xsks xiw_obstacles \
	xiw_stats xiw_ingress xiw_egress; do
	check "$m is pinned" test -e $pin/$m
done

in_ns ip link add xl0 type veth peer name xl1
in_ns ip link set xl0 up
in_ns ip link set xl1 up mtu 3000
check "bpftool attaches xiw_ingress in the driver" \
	in_ns bpftool net attach xdpdrv pinned $pin/xiw_ingress dev xl0
check "ip shows it" shows "prog/xdp" ip link show dev xl0
check "the interface takes MTU 9000 with it" in_ns ip link set xl0 mtu 9000
check "tc takes a clsact qdisc" in_ns tc qdisc add dev xl0 clsact
check "tc attaches xiw_egress" \
	in_ns tc filter add dev xl0 egress bpf direct-action object-pinned $pin/xiw_egress
check "tc shows it" shows "xiw_egress.*direct-action" tc filter show dev xl0 egress

# One slot is enough to see the names: the map has 4096 entries.
zero4="0 0 0 0"
check "bpftool shows a flow by field names" \
	shows '"kernel_nxt"' bpftool -j map lookup pinned $pin/xiw_flows key $zero4
check "bpftool dumps the flows by field names" \
	shows '"kernel_nxt": 0' bpftool map dump pinned $pin/xiw_flows
check "and the queues" shows '"emptied_ns": 0' bpftool map dump pinned $pin/xiw_queues
flow_key=$(printf '0 0 0 0 0 0 0 0 0 0 255 255 10 0 0 1 %.0s' 1 2)"4 87 8 174"
check "bpftool adds a flow to the index" \
	bpftool map update pinned $pin/xiw_flow_index key $flow_key value 7 0 0 0
check "and shows it by field names" \
	shows '"remote_addr"' bpftool map dump pinned $pin/xiw_flow_index

# Every packet is counted, so the counts show that the attached programs run.
in_ns ip addr add 198.51.100.1/24 dev xl1
in_ns ping -c 1 -W 1 198.51.100.2 >/dev/null 2>&1
check "packets that pass are counted" \
	shows '"value": [1-9]' bpftool map lookup pinned $pin/xiw_stats key $zero4

check "bpftool detaches xiw_ingress" in_ns bpftool net detach xdpdrv dev xl0
check "ip no longer shows it" hides "prog/xdp" ip link show dev xl0
check "tc removes xiw_egress" in_ns tc qdisc del dev xl0 clsact
check "tc no longer shows it" hides "xiw_egress" tc filter show dev xl0 egress
check "the pins can be removed" rm -r $pin
exit $failed
