#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Several engines on one interface with four queues, in one process and in several: which queues each one gets, what
# comes on its own queues and on others', and what becomes of the queues of a process that dies. Every octet is
# compared. timeout: 240
. "${0%/*}/../lib/lib.sh"
# shellcheck source=tests/net/faults/trouble.sh
. "${0%/*}/../faults/trouble.sh"

progs=$_bpffs/xiw-wire-$$ # lib.sh removes it

# engines PROCESS NAME,QUEUES,PORT...: one process; each engine's connections are those of NAME.
engines() {
	local process=$1 spec name args=()
	shift
	for spec; do
		name=${spec%%,*}
		rm -f "$TMP/$name.state"
		[[ $name == "$process" ]] || : >"$TMP/$name"
		args+=(-E "${spec#*,},$TMP/$name.state")
	done
	spawn "RECV_$process" rcv "$process" "$BUILD/tests/net/faults/trouble" "${args[@]}"
	wait_until "$LONG" _ready "$process" $# || fail "engines-$process" "$(cat "$TMP/$process")"
}
_ready() { [[ $(grep -c '^ready' "$TMP/$1") == "$2" ]]; }

serves() { grep -q "^engine $2 serves $3 *${4-}" "$TMP/$1" || { cat "$TMP/$1"; return 1; }; }

# steer ID QUEUE: connection ID, from source port 40000 + ID, comes on the queue from now on.
steer() {
	bpftool map update pinned "$progs/queue_of" key "$1" 0 0 0 value $(($2 + 1)) 0 0 0
}

# connect ID QUEUE PORT [OPTION...]
connect() {
	local id=$1 port=$3
	steer "$id" "$2"
	shift 3
	transmit "$id" -p $((40000 + id)) -P "$port" "$@"
}

# Did at least 99 % take the direct path? Only an engine that did not run, or stopped behind segments that it had yet to
# acknowledge, may have fallen short.
mostly_direct() { # NAME ID
	local direct kernel stood='watchdog|frames lost before AF_XDP|acknowledgements not heard'
	direct=$(state "$1" "$2" octets_direct) kernel=$(state "$1" "$2" octets_kernel)
	((direct * 100 >= (direct + kernel) * 99)) ||
		grep -Eq "\"id\":$2,.*\"($stood)\"" "$TMP/$1.state" ||
		{ cat "$TMP/$1.state"; return 1; }
}

# How often did XDP take the connection's stream back for its queue?
steered() { # NAME ID
	local n
	n=$(state "$1" "$2" "queue of another engine")
	echo "${n:-0}"
}
# The same for a queue that nobody serves.
unserved() {
	local n
	n=$(state "$1" "$2" "no AF_XDP socket")
	echo "${n:-0}"
}
was_steered() { (($(steered "$1" "$2") + $(unserved "$1" "$2") > 0)); }
never_steered() { ! was_steered "$1" "$2"; }
again_direct() { _on_path "$1" "$2" direct; }
# Of how many queues does status say that an engine serves them?
_served() {
	(($(json | sed 's/.*"engines":\[\([^]]*\)\].*/\1/' | tr , '\n' | grep -cv '^ *0$') == $1))
}
served() { wait_until "$LONG" _served "$1" || { json; return 1; }; }

# crowd TEST: 64 connections at once, 16 for each of the engines A to D, on the queues 0 to 3.
crowd() {
	local id name engine wrong=0
	for ((id = 0; id < 64; id++)); do
		connect "$id" $((id % 4)) $((15046 + id % 4)) -b 4 -r 1
	done
	for ((id = 0; id < 64; id++)); do
		engine=ABCD name=SEND_$id
		engine=${engine:id % 4:1}
		reap "${!name}" "$LONG" && wait_until "$LONG" _closed "$engine" "$id" &&
			(($(octets "$engine" "$id") == 4 << 20)) && mostly_direct "$engine" "$id" &&
			never_steered "$engine" "$id" && continue
		cat "$TMP/send-$id" "$TMP/$engine.state"
		wrong=1
	done
	return $wrong
}

wire_up plain 1500 4
wire_clamp 196608
bpftool prog loadall "$BUILD/tests/net/path/queues.bpf.o" "$progs" pinmaps "$progs" || exit 1
in_ns snd tc qdisc add dev "$IF_SND" clsact || exit 1
in_ns snd tc filter add dev "$IF_SND" egress bpf da pinned "$progs/steer" || exit 1
load_patient rcv || fail load "exit code $?"

# ---- four engines in one process, each with a queue
# Promised: each has its own queue, and its connections are direct there; a segment on another queue goes to the socket,
# the stream with it, and comes back when the steering does.
engines P A,0x1,15046 B,0x2,15047 C,0x4,15048 D,0x8,15049
expect one-process-queues eval 'serves P 15046 0x1 && serves P 15047 0x2 && serves P 15048 0x4 &&
	serves P 15049 0x8'
expect status-says-who served 4
expect status-text eval "in_ns rcv '$xiwarp' status '$IF_RCV' |
	grep -Eq '^  queues: 0 by engine [0-9]+, 1 by engine [0-9]+, 2 by engine [0-9]+, 3 by'"
expect one-process-crowd crowd
i=0
for name in A B C D; do
	connect $((i + 1)) $i $((15046 + i)) -r 10
	connect $((i + 5)) $i $((15046 + i)) -b 24 -r 10
	((i++))
done
i=0
for name in A B C D; do
	((i++))
	under_way "$name" $i direct
	finishes "own-queue-complete-$i" "$name" $((i + 4))
	expect "own-queue-direct-$i" mostly_direct "$name" $((i + 4))
	expect "own-queue-not-steered-$i" never_steered "$name" $((i + 4))
done
steer 1 2
under_way A 1 kernel
expect steered-counted was_steered A 1
expect steered-told told A 1 "its segments come on queue 2 of $IF_RCV, which another engine serves"
expect steered-others-direct stays_direct C 3
steer 1 0
expect steered-back-direct wait_until "$LONG" again_direct A 1
expect steered-back-not-told wait_until "$LONG" _told A 1 '"'
# To and fro: no octet is lost, and it comes back each time.
for queue in 1 0 3 0 2 0; do
	steer 1 $queue
	moves A 1 || fail steered-again "$(cat "$TMP/A.state")"
done
expect to-and-fro-direct wait_until "$LONG" again_direct A 1
# Thousands of times within seconds: the stream goes on, mostly by the kernel path, and no other one suffers.
flips=2000
bounce() {
	local i
	for ((i = 0; i < flips; i++)); do
		echo "map update pinned $progs/queue_of key 1 0 0 0 value $((2 - i % 2)) 0 0 0"
		sleep 0.002
	done | bpftool batch file - >/dev/null
}
before=$(steered A 1) at=$(octets A 1)
expect bounces bounce
expect bounced-moves eval '(($(octets A 1) > at + 1000000)) && moves A 1'
# The row that it takes to go direct again doubles with each time.
expect bounced-seldom eval 'n=$(($(steered A 1) - before)); echo "$n times"
	((n > 0 && n < flips / 20))'
expect bounced-others-direct eval 'stays_direct B 2 && stays_direct C 3 && never_steered C 3'
expect bounced-direct wait_until "$LONG" again_direct A 1
for i in 1 2 3 4; do
	name=ABCD
	finishes "one-process-complete-$i" "${name:i-1:1}" $i
done
no_trace one-process-no-trace
quit one-process-ends P

# ---- two processes with two queues each; one is killed
# Promised: connections of the other stay direct throughout, and nothing of it changes. Its queues are free.
engines P A,0x1,15046 B,0x2,15047
engines Q C,0x4,15048 D,0x8,15049
expect two-processes-crowd crowd
connect 1 0 15046 -r 10
connect 2 1 15047 -r 10
connect 3 2 15048 -r 10
connect 4 3 15049 -r 10
under_way A 1 direct
under_way B 2 direct
under_way C 3 direct
under_way D 4 direct
stop "$RECV_Q" KILL
breaks killed-peer-told-3 3
breaks killed-peer-told-4 4
expect killed-other-moves-1 moves A 1
expect killed-other-moves-2 moves B 2
expect killed-other-direct-1 stays_direct A 1
expect killed-other-direct-2 stays_direct B 2
expect killed-other-not-steered eval 'never_steered A 1 && never_steered B 2'
# A stranger's queue: nobody serves it now.
steer 1 3
under_way A 1 kernel
expect unserved-told told A 1 "its segments come on queue 3 of $IF_RCV, which no engine serves"
steer 1 0
# A third process wants all that there are, and gets those two.
engines R E,0,15050
expect third-gets-the-rest serves R 15050 0xc \
	"queues 0-1 of $IF_RCV (2-3 are served): other engines have them"
connect 5 3 15050 -r 10
under_way E 5 direct
expect third-first-again-direct wait_until "$LONG" again_direct A 1
# It has a connection on a queue of the first process; when that ends, it takes the queue.
connect 6 0 15050 -r 10
under_way E 6 kernel
finishes two-processes-complete-1 A 1
finishes two-processes-complete-2 B 2
stop "$RECV_P" KILL
expect killed-queues-taken served 4
expect killed-queue-direct wait_until "$LONG" again_direct E 6
finishes third-complete-5 E 5
finishes third-complete-6 E 6
# One that finds no queue is told, and has the kernel path.
engines S F,0x5,15051 G,0x100,15052
expect none-left serves S 15051 0 "AF_XDP on $IF_RCV queue 0: busy: another engine has it"
expect no-such-queue serves S 15052 0 "$IF_RCV has 4 queues, and the engine was to serve 8"
connect 7 0 15051 -r 10
under_way F 7 kernel
finishes none-left-complete F 7
quit none-left-ends S
quit third-ends R

# ---- a queue that the kernel gives back late
# Promised: it is waited for, if an engine had it lately. The kernel frees it behind the end of the process; here other
# software holds it instead.
spawn other rcv other "$BUILD/tests/net/path/queues" "$IF_RCV" 1
wait_until "$LONG" grep -q ready "$TMP/other" || fail other "$(cat "$TMP/other")"
spawn late rcv late sh -c "sleep 0.5; kill $other"
engines P A,0,15046
expect late-queue-served serves P 15046 0xf
stop "$other"
stop "$late"
quit late-ends P

# ---- other AF_XDP software has a queue
# Promised: it costs that queue alone, and only for as long as the software has it.
spawn other rcv other "$BUILD/tests/net/path/queues" "$IF_RCV" 1
wait_until "$LONG" grep -q ready "$TMP/other" || fail other "$(cat "$TMP/other")"
spawn sink rcv sink "$BUILD/xiwarp" sink --threads 1 --listen $V4_RCV:15077
words="queues 1 of $IF_RCV (0,2-3 are served): other programs have them"
expect foreign-sink-told \
	wait_until "$LONG" grep -q "the direct path is not complete: $words" "$TMP/sink"
stop "$sink" INT
engines P A,0,15046
expect foreign-costs-one serves P 15046 0xd "$words"
connect 1 3 15046 -r 10
connect 2 1 15046 -r 10
under_way A 1 direct
under_way A 2 kernel
stop "$other"
expect foreign-gone-served served 4
expect foreign-gone-direct wait_until "$LONG" again_direct A 2
finishes foreign-complete-1 A 1
finishes foreign-complete-2 A 2

# ---- the number of queues changes
# Promised: a queue that is served cannot go, and the engine takes those that come.
if in_ns snd ethtool -L "$IF_SND" tx 2 2>/dev/null; then
	connect 1 1 15046 -r 10
	under_way A 1 direct
	if in_ns rcv ethtool -L "$IF_RCV" rx 2 2>/dev/null; then
		fail served-queues-stay "$(in_ns rcv ethtool -l "$IF_RCV")"
	else
		pass served-queues-stay
	fi
	finishes served-queues-complete A 1
	quit served-queues-ends P
	expect fewer-queues wait_until "$LONG" in_ns rcv ethtool -L "$IF_RCV" rx 2
	engines P A,0,15046
	expect fewer-queues-served serves P 15046 0x3
	connect 1 1 15046 -r 10
	under_way A 1 direct
	in_ns rcv ethtool -L "$IF_RCV" rx 4 && in_ns snd ethtool -L "$IF_SND" tx 4 ||
		fail more-queues "exit code $?"
	steer 1 3
	expect more-queues-served served 4
	expect more-queues-direct wait_until "$LONG" again_direct A 1
	finishes more-queues-complete A 1
else
	skip more-queues "the interface cannot change the number of its queues"
fi
no_trace no-trace
quit last-ends P
unload >/dev/null || fail unload "exit code $?"
finish
