#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 240
#
# Several processes on one interface: who has no queue says so in one line, and works by the kernel's path; with
# --queues, each has queues of its own, and what comes on them is direct.
. "${0%/*}/../lib/lib.sh"
. "${0%/*}/programs.sh"

progs=$_bpffs/xiw-wire-$$ # lib.sh removes it
busy='^xiwarp: all octets take the kernel.s path: .* busy: another engine has it'

# serve NAME PORT OPTION...: ib_write_bw's server on rcv, with its pid in $NAME.
serve() {
	local name=$1 port=$2
	shift 2
	spawn "$name" rcv "$name" "${foreign[@]}" "$xiwarp" run --report --if "$IF_RCV" "$@" -- \
		ib_write_bw -R -F -n 200 -s 65536 -p "$port"
	wait_listen rcv "$port" || fail "$name" "$(cat "$TMP/$name")"
}

# write CASE NAME PORT: a client for it; both end well.
write() {
	local client rc log=client
	spawn client snd client "${foreign[@]}" "$xiwarp" run --if "$IF_SND" -- \
		ib_write_bw -R -F -n 200 -s 65536 -p "$3" "$V4_RCV"
	reap "$client" 60
	rc=$?
	((rc == 124)) && stop "$client"
	if ((rc == 0)); then
		log=$2
		reap "${!2}" 20
		rc=$?
		((rc == 124)) && stop "${!2}"
	fi
	if ((rc)); then fail "$1" "the $log: exit code $rc: $(cat "$TMP/$log")"; else pass "$1"; fi
}

_share() { # NAME: per cent by the direct path, without its fraction
	sed -n 's/.*xiwarp: .* octets received, \([0-9]*\)\.[0-9]* % .*/\1/p' "$TMP/$1"
}
direct() { [[ $(_share "$1") -ge 95 ]] || { cat "$TMP/$1"; return 1; }; }
kernel() { [[ $(_share "$1") == 0 ]] || { cat "$TMP/$1"; return 1; }; }
# It says in one line that it has no queue, or nothing of it.
says() { [[ $(grep -c "$busy" "$TMP/$1") == 1 && $(grep -c '^xiwarp: ' "$TMP/$1") == 1 ]]; }
silent() { ! grep '^xiwarp: ' "$TMP/$1"; }

# The engines that serve the queues 0, 1, ..., as letters in the order in which they are met.
queues() {
	in_ns rcv "$xiwarp" status "$IF_RCV" --json |
		sed 's/.*"engines":\[\([^]]*\)\].*/\1/' | tr -d ' ' | tr , '\n' | awk '
			$1 && !($1 in letter) { letter[$1] = substr("ABCDEFGH", ++n, 1) }
			{ s = s ($1 ? letter[$1] : "-") } END { print s }'
}
serves() { # IF QUEUES
	local n
	n=$(in_ns rcv "$xiwarp" status "$1" --json | sed 's/.*"engines":\[\([^]]*\)\].*/\1/' |
		tr -d ' ' | tr , '\n' | grep -vc '^0*$')
	((n == $2)) || { echo "$n queues of $1 are served"; return 1; }
}
are() { [[ $(queues) == "$1" ]] || { queues; return 1; }; }

# steer QUEUE: all segments to rcv come on this queue from now on.
steer() {
	local i
	for ((i = 0; i < 64; i++)); do
		bpftool map update pinned "$progs/queue_of" key "$i" 0 0 0 value $(($1 + 1)) 0 0 0
	done
}

# ---- one queue
wire_up plain 1500 1 || exit 1
wire_clamp 262144
load_both || exit 1
serve first 18515
serve second 18516
expect one-first-silent silent first
expect one-second-says says second
write one-second second 18516
expect one-second-kernel kernel second
write one-first first 18515
expect one-first-direct direct first

# A process with --if leaves the queues of other interfaces to others; without it, it takes all.
in_ns rcv ip link add other0 type veth peer name other1 || exit 1
in_ns rcv sh -c 'ip link set other0 up && ip link set other1 up' || exit 1
in_ns rcv "$xiwarp" load other0 >/dev/null || exit 1
serve first 18515
expect only-one serves "$IF_RCV" 1
expect only-not-other serves other0 0
write only-first first 18515
spawn all rcv all "${foreign[@]}" "$xiwarp" run -- rping -s -a "$V4_RCV" -p 18520
wait_listen rcv 18520
expect all-other serves other0 1
stop "$all"
in_ns rcv "$xiwarp" unload other0 >/dev/null

# ---- four queues
wire_up plain 1500 4 || exit 1
wire_clamp 262144
bpftool prog loadall "$BUILD/tests/net/path/queues.bpf.o" "$progs" pinmaps "$progs" || exit 1
in_ns snd tc qdisc add dev "$IF_SND" clsact || exit 1
in_ns snd tc filter add dev "$IF_SND" egress bpf da pinned "$progs/steer" || exit 1
load_both || exit 1

# With one engine each, the first with one queue and the second with two; the third gets what is left.
export XIWARP_ENGINES=1
serve first 18515 --queues 1
serve second 18516 --queues 2
serve third 18517 --queues 2
unset XIWARP_ENGINES
serve fourth 18518
expect four-queues are ABBC
for name in first second third; do
	expect "four-$name-silent" silent "$name"
done
expect four-fourth-says says fourth
steer 2
write four-fourth fourth 18518
expect four-fourth-kernel kernel fourth
write four-second second 18516
expect four-second-direct direct second
# Its queues are free; the third takes one of them, as it wants two, and no more.
expect four-taken wait_until 10 are AB-B
# On another's queue.
steer 0
write four-third third 18517
expect four-third-kernel kernel third
write four-first first 18515
expect four-first-direct direct first

# An engine for each queue, by default, as far as there are CPUs; and by the environment.
if (($(nproc) >= 2)); then
	serve first 18515 --queues 2
	expect engines-two eval 'queues | grep -Eqx "AB--"'
	XIWARP_QUEUES=2 serve second 18516
	expect engines-environment are ABCD
	steer 3
	write engines-second second 18516
	expect engines-second-direct direct second
	stop "$first"
else
	skip engines "one CPU alone"
fi
finish
