# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Sourced by the scripts that work in network namespaces: tests, the demonstration, the benchmark.
#
#   wire_up plain|fair|relay [MTU [QUEUES]]   two namespaces and the wire between them; wire_down
#   in_ns SIDE CMD...                   run in a namespace; SIDE is snd, rcv, mid (not plain) or host
#   spawn VAR SIDE LOG CMD...           the same in the background: pid to VAR, output to $TMP/LOG
#   reap PID SECONDS; stop PID [SIGNAL] await its end, or cause it; both return its exit code
#   wait_until SECONDS CMD...; wait_listen SIDE PORT [SECONDS]
#   pass NAME; fail NAME WHY; skip NAME WHY; expect NAME CMD...; finish
#   refused NAME CODE WORDS CMD...      on rcv: CODE, and one line on standard error, with WORDS
#   administrator LINE                  what /etc/xiwarp.conf says to programs that are started from now on
#   "${traced[@]}" OPTION... CMD...       strace, quiet; what AddressSanitizer cannot do beside it is off
#   field KEY [FILE]                    its value in the last line of JSON in FILE ($report, $TMP/json)
#   cases PEER END PATH                 a peer of plain sockets against the library's end; CASE chooses
#   random_file FILE MIB; set_sysctl SIDE KEY VALUE; tcp_timestamps SIDE 0|1; tcp_sack SIDE 0|1
#   wire_clamp OCTETS                   at most so much of a connection in flight from snd
#   wire_counts                         frames, octets and losses of the fair wire's middle
#   wire_drops                          frames that found a ring of the fair wire full
#   napi_thread SIDE; pin_napi SIDE CORE
#   kernel_has MAJOR MINOR; ring        is this kernel so new?; io_uring or epoll: the ring that engines get
#   egress_of SIDE IF; egress_off SIDE IF  see egress.sh
#   load_patient SIDE [OPTION...]       `xiwarp load` for tests of what goes direct: see patient.sh
#   relay_start VAR OPTION...           joins the relay wire: pid to VAR; options as in relay.c, -f: snd to rcv
#   relay_stats PID                     what it did, one line of JSON; relay_stop PID ends it, and prints that
#
# Everything is named after this shell's pid, so that concurrent runs do not conflict, and is removed when the shell
# ends, whatever the reason. A shell handles a signal only after its foreground command has ended: use spawn and reap
# for commands that may take long.
#
# The fair wire has a namespace in its middle, where wire.bpf.c passes every frame from one port to the other as an
# xdp_frame, as the driver of a NIC would. Both ends use threaded NAPI; the receiver's thread is pinned to core
# $RCV_CORE, all others to $SND_CORE.
#
# The relay wire has one, too, but the program relay joins its ports while it runs, and impairs the traffic in a way
# that can be repeated. Without relay nothing passes.

set -u
PATH=$PATH:/usr/sbin:/sbin

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
BUILD=${XIW_BUILD:-$ROOT/build}
traced=(env ASAN_OPTIONS=detect_leaks=0 strace -qq)

SND_CORE=0
RCV_CORE=$(($(nproc) - 1))

V4_SND=10.77.0.1 V4_RCV=10.77.0.2
V6_SND=fd77::1 V6_RCV=fd77::2

# The name "napi/NAME-ID" of a kernel thread shows 15 characters, so interface names have at most 9. They differ on both
# sides, because pins in bpffs, which all namespaces share, are named after them.
printf -v _id '%x' $$
IF_SND=xw${_id}s IF_RCV=xw${_id}r
_if_mid_snd=xw${_id}t _if_mid_rcv=xw${_id}q
_bpffs=/sys/fs/bpf
_wire= _spawned=() _relays=0 _relay_logs=()

# shellcheck source=tests/clean.sh
. "$ROOT/tests/clean.sh"
# shellcheck source=tests/report.sh
. "$ROOT/tests/report.sh"
# shellcheck source=tests/net/lib/patient.sh
. "$ROOT/tests/net/lib/patient.sh"
# shellcheck source=tests/net/lib/egress.sh
. "$ROOT/tests/net/lib/egress.sh"

if ((EUID != 0)); then
	echo "SKIP ${0##*/}: needs root"
	exit 0
fi

# ---- processes -------------------------------------------------------------------------------------

_ns() {
	echo "xiw-$$-$1"
}

# Not `ip netns exec`, which mounts another /sys and hides the pins in bpffs.
in_ns() {
	local side=$1
	shift
	if [[ $side == host ]]; then
		"$@"
	else
		nsenter --net="/run/netns/$(_ns "$side")" -- "$@"
	fi
}

spawn() {
	local -n _pid=$1
	local side=$2 log=$TMP/$3 enter=()
	shift 3
	[[ $side == host ]] || enter=(nsenter --net="/run/netns/$(_ns "$side")" --)
	# Background commands of a shell ignore INT, and a caller may have ignored other signals.
	env --default-signal "${enter[@]}" "$@" >"$log" 2>&1 </dev/null &
	_pid=$!
	_spawned+=("$_pid")
}

# A child that has ended is a zombie until this shell waits for it.
_ended() {
	local stat
	{ stat=$(<"/proc/$1/stat"); } 2>/dev/null || return 0
	[[ ${stat##*) } == Z* ]]
}

wait_until() {
	local end=$((${EPOCHREALTIME/./} + $1 * 1000000 * ${XIW_PATIENCE:-1}))
	shift
	until "$@"; do
		((${EPOCHREALTIME/./} < end)) || return 1
		sleep 0.02
	done
}

_forget() {
	local p left=()
	for p in "${_spawned[@]}"; do
		[[ $p == "$1" ]] || left+=("$p")
	done
	_spawned=("${left[@]}")
}

# reap PID SECONDS: its exit code, or 124 if it still runs.
reap() {
	wait_until "$2" _ended "$1" || return 124
	_forget "$1"
	wait "$1" 2>/dev/null
}

# stop PID [SIGNAL]: by force if it is still there after 5 s, which then is its exit code (137).
stop() {
	kill -"${2:-TERM}" "$1" 2>/dev/null
	wait_until 5 _ended "$1" || kill -KILL "$1" 2>/dev/null
	_forget "$1"
	wait "$1" 2>/dev/null
}

# The socket of a process that has ended may still listen for a moment, until the kernel has taken its io_uring down. No
# process has it any more.
_listens() {
	[[ $(in_ns "$1" ss -Htlnp "sport = :$2") == *users:* ]]
}
_port_free() {
	[[ -z $(in_ns "$1" ss -Htln "sport = :$2") ]]
}

wait_listen() {
	wait_until "${3:-10}" _listens "$1" "$2"
}

random_file() {
	head -c "$(($2 * 1048576))" /dev/urandom >"$1"
}

refused() {
	local name=$1 code=$2 words=$3 rc
	shift 3
	in_ns rcv timeout 30 "$@" >"$TMP/out" 2>"$TMP/err" </dev/null
	rc=$?
	if ((rc != code)); then
		fail "$name" "exit code $rc, not $code: $(cat "$TMP/err")"
	elif [[ -s $TMP/out || $(wc -l <"$TMP/err") != 1 ]]; then
		fail "$name" "not one line of error: $(cat "$TMP/out" "$TMP/err")"
	elif ! grep -qF -- "$words" "$TMP/err"; then
		fail "$name" "does not say '$words': $(cat "$TMP/err")"
	else
		pass "$name"
	fi
}

administrator() {
	printf '%s\n' "$1" >"$XIW_CONF"
}

field() {
	sed -n "s/.*\"$1\": *\"\{0,1\}\([^,}\"]*\).*/\1/p" "${2:-$report}" | tail -n 1
}

# Runs PEER against END and prints a line for each case.
cases() {
	local end pid rc
	spawn end rcv "end-$3" "$BUILD/tests/net/peer/$2" 15999 "$3"
	wait_listen rcv 15999 || fail "$3" "nobody listens: $(cat "$TMP/end-$3")"
	spawn pid snd "cases-$3" "$BUILD/tests/net/peer/$1" "$V4_RCV" 15999 "$3" ${CASE:+"$CASE"}
	reap "$pid" 100
	rc=$?
	((rc == 124)) && stop "$pid"
	cat "$TMP/cases-$3"
	((rc > 1)) && fail "$3" "the peer: exit code $rc"
	((rc == 1)) && ((_failures++))
	reap "$end" 20
	rc=$?
	((rc == 0)) || fail "$3-end" "exit code $rc: $(cat "$TMP/end-$3")"
	((rc == 124)) && stop "$end"
}

ring() { "$BUILD/xiwarp" status 2>/dev/null | sed -n 's/^ring: \([a-z_]*\).*/\1/p'; }

kernel_has() {
	local major minor
	IFS=.- read -r major minor _ < <(uname -r)
	((major > $1 || (major == $1 && minor >= $2)))
}

# ---- the wire --------------------------------------------------------------------------------------

# /proc/sys/net shows the namespace of the process that opens it.
set_sysctl() {
	in_ns "$1" sh -c 'printf "%s\n" "$2" >"/proc/sys/$1"' sh "${2//.//}" "$3"
}

tcp_timestamps() {
	set_sysctl "$1" net.ipv4.tcp_timestamps "$2"
}

tcp_sack() {
	set_sysctl "$1" net.ipv4.tcp_sack "$2"
}

_if() {
	case $1 in
	snd) echo "$IF_SND" ;;
	rcv) echo "$IF_RCV" ;;
	esac
}

_make_ns() {
	ip netns add "$(_ns "$1")" || return
	# Addresses are usable at once, without duplicate address detection.
	set_sysctl "$1" net.ipv6.conf.default.accept_dad 0
	set_sysctl "$1" net.ipv6.conf.default.router_solicitations 0
	set_sysctl "$1" net.ipv6.conf.default.accept_ra 0
	# The host's default may be BBR, which overruns veth's short ring and can lose every eighth segment, so that a
	# transfer would measure repair. Reno is in every kernel.
	set_sysctl "$1" net.ipv4.tcp_congestion_control reno
	# The host may have br_netfilter, with which no connection goes direct on a bridge.
	for _v in '' 6; do set_sysctl "$1" net.bridge.bridge-nf-call-ip${_v}tables 0; done 2>&-
	in_ns "$1" ip link set lo up
}

_make_pair() { # SIDE IF SIDE IF
	ip link add "$2" mtu "$_mtu" numrxqueues "$_queues" numtxqueues "$_queues" netns \
		"$(_ns "$1")" type veth peer name "$4" mtu "$_mtu" numrxqueues "$_queues" \
		numtxqueues "$_queues" netns "$(_ns "$3")"
}

_address() { # SIDE V4 V6
	local ifname
	ifname=$(_if "$1")
	# Segments carry full checksums, as they do on a real wire.
	in_ns "$1" ethtool -K "$ifname" tx off tso off gso off gro on >/dev/null &&
		in_ns "$1" ip addr add "$2/24" dev "$ifname" &&
		in_ns "$1" ip addr add "$3/64" dev "$ifname" nodad &&
		in_ns "$1" ip link set "$ifname" up
}

# This alone needs the namespace's own /sys.
_threaded() { # SIDE IF
	ip netns exec "$(_ns "$1")" sh -c "echo 1 >/sys/class/net/$2/threaded"
}

_napi_threads() { # IF
	local comm
	while read -r comm; do
		comm=${comm#/proc/}
		echo "${comm%/comm}"
	done < <(grep -ls "^napi/$1-" /proc/[0-9]*/comm)
}

napi_thread() {
	_napi_threads "$(_if "$1")"
}

# Must be repeated after an XDP program was attached or detached, since that may restart the threads.
pin_napi() {
	local t
	for t in $(napi_thread "$1"); do
		taskset -pc "$2" "$t" >/dev/null || return
	done
}

_ifindex() { # SIDE IF
	local line
	line=$(in_ns "$1" ip -o link show dev "$2") || return
	echo "${line%%:*}"
}

_u32() {
	printf '0x%02x 0x%02x 0x%02x 0x%02x' $(($1 & 255)) $(($1 >> 8 & 255)) $(($1 >> 16 & 255)) \
		$(($1 >> 24))
}

# The value is a struct bpf_devmap_val: ifindex, and the fd of a program, here none.
_port() { # IFINDEX IFINDEX
	# shellcheck disable=SC2046
	in_ns mid bpftool map update pinned "$_bpffs/xiw-wire-$$/wire_ports" key $(_u32 "$1") \
		value $(_u32 "$2") 0 0 0 0
}

_middle() {
	local pins=$_bpffs/xiw-wire-$$ ports=("$_if_mid_snd" "$_if_mid_rcv") i a b t

	in_ns mid bpftool prog loadall "$BUILD/tests/net/lib/wire.bpf.o" "$pins" pinmaps \
		"$pins" || return
	# The map is filled before the programs are attached, so that every frame finds its way.
	a=$(_ifindex mid "${ports[0]}") b=$(_ifindex mid "${ports[1]}")
	_port "$a" "$b" && _port "$b" "$a" || return
	for i in "${ports[@]}"; do
		in_ns mid ip link set "$i" up &&
			in_ns mid bpftool net attach xdpdrv pinned "$pins/wire_cross" dev "$i" &&
			_threaded mid "$i" || return
		for t in $(_napi_threads "$i"); do
			taskset -pc "$SND_CORE" "$t" >/dev/null
		done
	done
	_counts_id=$(bpftool -j map show pinned "$pins/wire_counts" |
		sed 's/.*"id":\([0-9]*\).*/\1/')
	# The ports hold the program and its maps, so that nothing is left behind even if this shell is killed.
	rm -rf "$pins"
}

# No offload changes a frame on its way to the relay or from it, and nothing else answers.
_relay_middle() {
	local port
	set_sysctl mid net.ipv6.conf.all.disable_ipv6 1 &&
		set_sysctl mid net.ipv6.conf.default.disable_ipv6 1 || return
	for port in "$_if_mid_snd" "$_if_mid_rcv"; do
		in_ns mid ethtool -K "$port" tx off tso off gso off gro off >/dev/null &&
			in_ns mid ip link set "$port" up || return
	done
}

relay_start() {
	local -n _relay=$1
	local _log=relay-$((++_relays))
	shift
	: >"$TMP/$_log"
	spawn _relay mid "$_log" "$BUILD/tests/net/lib/relay" "$@" "$_if_mid_snd" \
		"$_if_mid_rcv" || return
	_relay_logs[$_relay]=$TMP/$_log
	wait_until 10 grep -q '^ready' "$TMP/$_log" && return
	cat "$TMP/$_log"
	return 1
}

_lines_over() {
	(($(wc -l <"$1") > $2))
}

relay_stats() {
	local log=${_relay_logs[$1]} lines
	lines=$(wc -l <"$log")
	kill -USR1 "$1" && wait_until 10 _lines_over "$log" "$lines" && tail -n 1 "$log"
}

relay_stop() {
	stop "$1"
	tail -n 1 "${_relay_logs[$1]}"
}

wire_counts() {
	bpftool -j map dump id "$_counts_id" | grep -o '"\(frames\|octets\|lost\)":[0-9]*' |
		awk -F '[":]+' '{ n[$2] += $3 } END { print n["frames"], n["octets"], n["lost"] }'
}

wire_drops() {
	local port
	for port in "$_if_mid_snd" "$_if_mid_rcv"; do
		in_ns mid ethtool -S "$port"
	done | awk '/queue_[0-9]+_(xdp_xmit_errors|drops):/ { n += $2 } END { print n + 0 }'
}

_wire_up() {
	local side
	_mount_bpffs && _make_ns snd && _make_ns rcv || return
	if [[ $_wire != plain ]]; then
		_make_ns mid && _make_pair snd "$IF_SND" mid "$_if_mid_snd" &&
			_make_pair rcv "$IF_RCV" mid "$_if_mid_rcv" || return
	else
		_make_pair snd "$IF_SND" rcv "$IF_RCV" || return
	fi
	_address snd "$V4_SND" "$V6_SND" && _address rcv "$V4_RCV" "$V6_RCV" || return
	if [[ $_wire == relay ]]; then
		_relay_middle || return
	fi
	if [[ $_wire == fair ]]; then
		_middle || return
		for side in snd rcv; do
			_threaded "$side" "$(_if "$side")" || return
		done
		pin_napi snd "$SND_CORE" && pin_napi rcv "$RCV_CORE"
	fi
}

wire_up() {
	[[ -z $_wire ]] || wire_down
	_wire=$1 _mtu=${2:-1500} _queues=${3:-1}
	if ! _wire_up; then
		fail wire "the $_wire wire at MTU $_mtu could not be built"
		exit 1
	fi
}

# The ring of veth holds 256 frames, and a frame that finds it full is lost. A sender that never has more in flight sees
# no loss, whatever window the receiver offers. This applies to new sockets that do not set SO_SNDBUF.
wire_clamp() {
	set_sysctl snd net.ipv4.tcp_wmem "4096 16384 $1"
}

# Removes what the run of process $1 left, which may be this one: processes, pins, interfaces, namespaces.
_sweep() {
	local id ns pid pins suffix

	printf -v id '%x' "$1"
	for ns in snd rcv mid; do
		ns=xiw-$1-$ns
		[[ -e /run/netns/$ns ]] || continue
		for pid in $(ip netns pids "$ns" 2>/dev/null); do
			kill -KILL "$pid" 2>/dev/null
		done
	done
	rm -rf "$_bpffs/xiw-wire-$1"
	for pins in "$_bpffs/xiwarp/xw${id}"[sr]; do
		[[ -e $pins ]] && rm -rf "$pins" && rmdir "$_bpffs/xiwarp" 2>/dev/null
	done
	for ns in snd rcv mid; do
		ns=xiw-$1-$ns
		[[ -e /run/netns/$ns ]] || continue
		# A namespace goes some time after its name; interfaces are to be gone now.
		for suffix in s r t q; do
			nsenter --net="/run/netns/$ns" -- ip link del "xw${id}$suffix" 2>/dev/null
		done
		ip netns del "$ns"
	done
	return 0
}

wire_down() {
	[[ -z $_wire ]] || _sweep $$
	_wire=
}

_mount_bpffs() {
	[[ $(stat -f -c %T $_bpffs) == bpf_fs ]] || mount -t bpf bpf $_bpffs
}

# at_end CMD...: CMD is run when the script ends, however that is.
at_end() {
	_at_end+=("$(printf '%q ' "$@")")
}

_cleanup() {
	local rc=$? pid log cmd

	trap '' INT TERM HUP
	trap - EXIT
	if ((rc == 0 && !_finished)); then
		fail ended-early "the script ended in front of its last line"
		rc=1
	fi
	for cmd in "${_at_end[@]}"; do
		eval "$cmd"
	done
	for pid in "${_spawned[@]}"; do
		kill -TERM "$pid" 2>/dev/null
	done
	for pid in "${_spawned[@]}"; do
		stop "$pid"
	done
	wire_down
	local reports='ERROR: (Address|Leak)Sanitizer|runtime error:'
	for log in $(grep -lE "$reports" "$TMP"/* 2>/dev/null); do
		cat "$log"
		fail "${log##*/}" "sanitizer report"
		rc=1
	done
	rm -rf "$TMP"
	exit "$rc"
}

_at_end=()
TMP=$(mktemp -d "${TMPDIR:-/tmp}/xiw-$$.XXXXXX")
report=$TMP/json
# The file does not exist: programs act as without an administrator's settings, whatever this host has.
export XIW_CONF=$TMP/xiwarp.conf
trap _cleanup EXIT
# bash 5.2 may run a trap where it was to parse a command substitution, and then takes the trap's text for that. The
# line with the parenthesis ends such a substitution; elsewhere bash exits before it reads that line.
trap $'exit 130\n)' INT
trap $'exit 143\n)' TERM
trap $'exit 129\n)' HUP

# Removes what a killed run left.
for _ns_path in /run/netns/xiw-*; do
	[[ $_ns_path =~ /xiw-([0-9]+)-(snd|rcv|mid)$ ]] || continue
	[[ -e /proc/${BASH_REMATCH[1]} ]] || _sweep "${BASH_REMATCH[1]}"
done
