# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# How many instructions a received octet costs, for `make bench-vm`: the clock of this VM counts instructions, so the
# CPU time of the NAPI threads and of the application is their number. The receiver has eth0. The sender has eth1, in a
# namespace. Each case is measured three times and writes lines to $RESULTS/cases: its name, the MTU, octets, and the
# instructions of the NAPI threads and of the application. $RESULTS/programs has those for which no function is known.
# limit: 900, memory: 3072, instructions: 1, bench: 1, kernels: newest, siw: 1
bench=$BUILD/bench
mib=65 # the first one is not measured
at=10.89.0.2
port=15044

in_snd() {
	nsenter --net=/run/netns/snd -- "$@"
}

# Each NIC has a NAPI thread for receiving and one for sending.
napi_threads() {
	pgrep -d, "^napi/$1-"
}

wire_up() {
	local i
	modprobe virtio_net
	for ((i = 0; i < 100; i++)); do
		[[ -e /sys/class/net/eth1 ]] && break
		sleep 0.1
	done
	ip netns add snd
	ip link set eth1 netns snd
	ip addr add $at/24 dev eth0
	in_snd ip addr add 10.89.0.1/24 dev eth1
	in_snd ip link set lo up
	in_snd ip link set eth1 up
	ip link set eth0 up
	# The hub hands frames on as they are: whole checksums, no segment larger than the MTU.
	expect threaded sh -c 'echo 1 >/sys/class/net/eth0/threaded'
	# It has a /sys of its own.
	expect threaded-sender unshare -m nsenter --net=/run/netns/snd -- sh -c \
		'mount -t sysfs sysfs /sys && echo 1 >/sys/class/net/eth1/threaded'
}

mtu_is() {
	mtu=$1
	ip link set eth0 mtu "$1"
	in_snd ip link set eth1 mtu "$1"
}

number() { # NAME FILE
	sed "s/.*\"$1\": \([0-9.a-z]*\).*/\1/" "$2"
}

# symbols NAME PID: where the functions of the kernel and of the process are, in $RESULTS/NAME.symbols and NAME.maps.
symbols() {
	[[ -e $RESULTS/$1.symbols ]] && return
	awk '$2 ~ /[tTwW]/ { print $1, $3 }' /proc/kallsyms >"$RESULTS/$1.symbols"
	grep ' r-xp ' "/proc/$2/maps" >"$RESULTS/$1.maps"
}

thrice() {
	local i
	for i in 1 2 3; do
		"$@"
	done
}

# connection CASE RECEIVER SENDER: of two commands. The receiver's ring is epoll if CASE ends so, the sender's is
# io_uring in any case.
connection() {
	local out=$RESULTS/$1-$mtu receiver ring=io_uring
	[[ $1 == *_epoll ]] && ring=epoll
	# shellcheck disable=SC2086
	XIWARP_RING=$ring $2 "$(napi_threads eth0)" >"$out.json" 2>"$out.log" &
	receiver=$!
	listening $port
	symbols "$1-$mtu" $receiver
	# shellcheck disable=SC2086
	patiently 30 nsenter --net=/run/netns/snd -- $3
	expect "$1-$mtu-sent" [ $? = 0 ]
	ended $receiver
	expect "$1-$mtu-received" [ $? = 0 ]
	cat "$out.json" "$out.log"
	echo "$1 $mtu $(number octets "$out.json") $(number napi_cpu_ns "$out.json")" \
		"$(number app_cpu_ns "$out.json")" >>"$RESULTS/cases"
}

# received CASE PATH: messages of 1 MiB.
received() {
	connection "$1" "$bench/wire_bench recv $2 $at $port $mib 64" \
		"$bench/wire_bench send ${2/copy/direct} $at $port $mib 64 $(napi_threads eth1)"
}

# messages CASE PATH: messages of 64 octets, as many as there can be.
messages() {
	local count=16000
	connection "$1" "$bench/message_bench recv $2 $count $at $port" \
		"$bench/message_bench send $2 $count $at $port"
}

# trips CASE PATH: messages of 64 octets, each answered before the next one. The end that answers is measured.
trips() {
	local count=320
	connection "$1" "$bench/trip_bench serve $2 0 64 $count $at $port" \
		"$bench/trip_bench ask kernel 0 64 $count $at $port"
}

# direct CASE PATH ZERO_COPY
direct() {
	received "$1" "$2"
	expect "$1-$mtu-direct" awk -v share="$(number direct_share "$RESULTS/$1-$mtu.json")" \
		'BEGIN { exit !(share > 0.99) }'
	expect "$1-$mtu-zero-copy-$3" [ "$(number zero_copy "$RESULTS/$1-$mtu.json")" = "$3" ]
}

# with_rings PATH: what compares the two rings, without the cases of 1 MiB that are measured anyway.
with_rings() {
	local ring name=${1/kernel/}
	if [[ $name ]]; then
		thrice direct direct_copy_epoll copy false
	else
		thrice received kernel_epoll kernel
	fi
	for ring in "" _epoll; do
		thrice messages "messages${name:+_$name}$ring" "$1"
		thrice trips "trips${name:+_$name}$ring" "$1"
	done
}

# The instructions of the receiver's NAPI threads so far.
napi_now() {
	pgrep '^napi/eth0-' | sed 's,.*,/proc/&/schedstat,' | xargs cat |
		awk '{ sum += $1 } END { printf "%.0f\n", sum }'
}

# siw has no application that takes part: it places in the NAPI thread. Ours sends, by perftest.
siw_up() {
	local m
	ulimit -l unlimited
	for m in ib_core iw_cm ib_uverbs rdma_ucm libcrc32c crc32c_generic; do
		modprobe -q $m
	done
	expect insmod insmod "$KERNEL_DIR/siw.ko"
	expect link rdma link add siw0 type siw netdev eth0
}

siw_received() {
	local server before
	ib_write_bw -R -F -n $((mib - 1)) -s 1048576 >"$RESULTS/siw-server" 2>&1 &
	server=$!
	listening 18515
	symbols "siw-$mtu" $server
	before=$(napi_now)
	"$BUILD/bench/vm_mark" begin
	patiently 30 nsenter --net=/run/netns/snd -- "$BUILD/xiwarp" run --send-first --if eth1 \
		-- ib_write_bw -R -F -n $((mib - 1)) -s 1048576 $at >"$RESULTS/siw-client" 2>&1
	expect "siw-$mtu-sent" [ $? = 0 ]
	ended $server
	expect "siw-$mtu-received" [ $? = 0 ]
	"$BUILD/bench/vm_mark" end
	tail -n 8 "$RESULTS/siw-client"
	echo "siw $mtu $(((mib - 1) << 20)) $(($(napi_now) - before)) 0" >>"$RESULTS/cases"
}

# transfer MIB: perftest over the library at both ends. Sets napi and app to what the receiver has cost.
transfer() {
	local group=/sys/fs/cgroup/perftest server
	local command=("$BUILD/xiwarp" run --report --send-first --if)
	mkdir -p $group
	napi=$(napi_now) app=$(used $group)
	(
		echo $BASHPID >$group/cgroup.procs
		exec "${command[@]}" eth0 -- ib_write_bw -R -F -n "$1" -s 1048576
	) >"$RESULTS/perftest-server" 2>&1 &
	server=$!
	listening 18515
	patiently 30 nsenter --net=/run/netns/snd -- "${command[@]}" eth1 -- \
		ib_write_bw -R -F -n "$1" -s 1048576 $at >"$RESULTS/perftest-client" 2>&1
	expect "perftest-$1-$mtu-sent" [ $? = 0 ]
	ended $server
	expect "perftest-$1-$mtu-received" [ $? = 0 ]
	napi=$(($(napi_now) - napi)) app=$(($(used $group) - app))
	grep 'xiwarp: ' "$RESULTS/perftest-server"
}

used() { # GROUP
	sed -n 's/^usage_usec \(.*\)/\1000/p' "$1/cpu.stat"
}

# The difference between a long and a short transfer, without the programs' start.
perftest_received() {
	local short_napi short_app
	transfer 16
	short_napi=$napi short_app=$app
	transfer 80
	echo "perftest $mtu $((64 << 20)) $((napi - short_napi)) $((app - short_app))" \
		>>"$RESULTS/programs"
}

# A wire that segments and checksums, as NICs do: from the sender's namespace to a third one. It is the last one that is
# measured, because its receiver makes marks too.
offload_up() {
	local side
	ip netns add off
	in_snd ip link add veth0 type veth peer name veth1 netns off
	in_snd ip addr add 10.90.0.1/24 dev veth0
	in_off ip addr add $off_at/24 dev veth1
	in_off ip link set lo up
	for side in "snd veth0" "off veth1"; do
		set -- $side
		nsenter --net=/run/netns/$1 -- ethtool -K $2 gro on
		nsenter --net=/run/netns/$1 -- ip link set $2 up
		expect offload-threaded-$1 unshare -m nsenter --net=/run/netns/$1 -- sh -c \
			"mount -t sysfs sysfs /sys && echo 1 >/sys/class/net/$2/threaded"
	done
}
off_at=10.90.0.2
in_off() {
	nsenter --net=/run/netns/off -- "$@"
}

# sent CASE PATH: what the sender of messages of 1 MiB costs. Its ACKs cost the softirq of whoever sends them.
sent() {
	local out=$RESULTS/$1-$mtu receiver napi app
	in_off "$bench/wire_bench" recv $2 $off_at $port $mib 64 "$(napi_threads veth1)" \
		>"$out.json" 2>"$out.log" &
	receiver=$!
	listening $port in_off
	patiently 30 nsenter --net=/run/netns/snd -- "$bench/wire_bench" send $2 $off_at $port \
		$mib 64 "$(napi_threads veth0)" >"$out.sent"
	expect "$1-$mtu-sent" [ $? = 0 ]
	ended $receiver
	expect "$1-$mtu-received" [ $? = 0 ]
	read -r napi app <"$out.sent"
	awk -v name="$1" -v mtu="$mtu" -v napi="$napi" -v app="$app" \
		'BEGIN { printf "%s %d 1000000 %.0f %.0f\n", name, mtu, napi * 1e6, app * 1e6 }' \
		>>"$RESULTS/programs"
}

senders() {
	offload_up
	for mtu in "$@"; do
		in_snd ip link set veth0 mtu "$mtu"
		in_off ip link set veth1 mtu "$mtu"
		thrice sent send_plain plain
		thrice sent send kernel
	done
}

ended() {
	local i
	for ((i = 0; i < 300; i++)); do
		kill -0 "$1" 2>/dev/null || break
		sleep 0.1
	done
	kill -INT "$1" 2>/dev/null
	wait "$1"
}

guest() {
	local m
	wire_up
	siw_up
	echo 1 >/proc/sys/net/core/bpf_jit_kallsyms
	"$BUILD/bench/vm_mark" libc >"$RESULTS/libc"
	uname -r >"$RESULTS/kernel"
	for m in 1500 9000; do
		mtu_is $m
		thrice received plain_tcp plain
		thrice received kernel kernel
		((m > 1500)) || with_rings kernel
		thrice siw_received
		expect "load-$m" "$BUILD/xiwarp" load --mode native eth0
		# virtio-net refuses zero-copy for packets of several frames.
		((m > 1500)) || thrice direct direct_zero_copy direct true
		thrice direct direct_copy copy false
		((m > 1500)) || with_rings direct
		thrice perftest_received
		expect "unload-$m" "$BUILD/xiwarp" unload eth0
	done
	senders 1500 9000
	cat "$RESULTS/cases"
}
