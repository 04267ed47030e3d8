#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 400
#
# A lasting fault of the direct path is found by one connection, and the next ones over the same place, also those of
# other processes, do not stand still for it. When it is gone, that is found, too. What one peer brings about harms no
# other peer's connections.

. "${0%/*}/../lib/lib.sh"
. "${0%/*}/../lib/counts.sh"

OCTETS=300000
PORT=15060

begin_sink() { # ARG...
	spawn SINK rcv json "$BUILD/xiwarp" sink --stag 0x1234 --size 1M --json "$@" \
		--listen "$V4_RCV:$PORT"
	wait_listen rcv "$PORT" && return
	echo "nobody listens: $(cat "$TMP/json")"
	return 1
}

reported() { # N
	(($(wc -l <"$TMP/json") > $1))
}

# Returns when the connection is reported as well: `sink` may be late.
send_one() {
	local rc reports
	reports=$(wc -l <"$TMP/json")
	spawn SEND snd sent "$BUILD/tests/net/lib/sendto" -t $OCTETS -o "$TMP/octets" "$V4_RCV" \
		"$PORT"
	reap "$SEND" 20
	rc=$?
	((rc == 124)) && stop "$SEND"
	((rc == 0)) || { echo "sendto: exit code $rc: $(cat "$TMP/sent")"; return "$rc"; }
	wait_until 10 reported "$reports" || { echo "no report"; return 1; }
}

send_once() { # by a process for this connection alone
	begin_sink --once && send_one && reap "$SINK" 10
}

# lost_by N CMD...: sets $lost to the time-outs of N connections, which CMD makes one after the other.
lost_by() {
	local n=$1 i before
	before=$(timeouts)
	shift
	for ((i = 0; i < n; i++)); do
		"$@" || return
	done
	lost=$(($(timeouts) - before))
}

says_why() { [[ $(field no_direct) == *"$1"*"(found before)"* ]]; }
was_direct() { (($(field octets_direct) * 2 > OCTETS)); }

# What `xiwarp status` remembers of a reason.
remembers() { # REASON
	in_ns rcv "$BUILD/xiwarp" status "$IF_RCV" --json >"$TMP/status" &&
		grep -q "\"reason\":\"$1\"" "$TMP/status"
}

# Is a cause held against the peer? On a host that is late, as a crowded one is, that takes a second stretch, of this
# connection or of the next one, and each ends only when the peer's time-out comes again.
holds() { # PEER
	in_ns rcv "$BUILD/xiwarp" status "$IF_RCV" --json |
		grep -q "\"peer\":\"$1\"[^}]*\"holds\":true"
}
# Has the connection met the cause once? On a crowded host one connection has time for two stretches.
met_once() { # PEER
	in_ns rcv "$BUILD/xiwarp" status "$IF_RCV" --json |
		grep -q "\"peer\":\"$1\",\"count\":1,"
}
peer=$V4_SND
meets() { # CMD...
	holds "$peer" || lost_by 1 "$@"
}

# fault NAME MOST WORDS REASON CMD...: 1 + 20 connections by CMD over a fault that is there.
fault() {
	local name=$1 most=$2 words=$3 reason=$4
	shift 4
	lost_by 1 "$@" >"$TMP/why" || { fail "$name" "$(cat "$TMP/why")"; return; }
	expect "$name-first" test "$lost" -le "$most"
	meets "$@"
	lost_by 20 "$@" >"$TMP/why" || { fail "$name" "$(cat "$TMP/why")"; return; }
	expect "$name-next" test "$lost" -eq 0
	expect "$name-says-why" says_why "$words"
	expect "$name-status" remembers "$reason"
}

# gone NAME CMD...: one in so many tries again, and then all go direct.
gone() {
	local name=$1 before
	shift
	before=$(timeouts)
	expect "$name-direct" wait_until 30 direct_after 34 "$@"
	expect "$name-no-loss" test "$(timeouts)" -eq "$before"
}

direct_after() { # N CMD...
	lost_by "$@" && was_direct
}

load() {
	in_ns rcv "$BUILD/xiwarp" unload "$IF_RCV" >/dev/null 2>&1
	in_ns rcv "$BUILD/xiwarp" load "$IF_RCV" >/dev/null
}

source_is() { # ADDRESS
	peer=$1
	in_ns snd ip route change 10.77.0.0/24 dev "$IF_SND" src "$1"
}

wire_up plain 1500 || exit 1
wire_clamp 131072
set_sysctl snd net.ipv4.tcp_no_metrics_save 1
progs=$_bpffs/xiw-wire-$$ # lib.sh removes it
bpftool prog loadall "$BUILD/tests/net/path/progress.bpf.o" "$progs" || exit 1
in_ns snd tc qdisc add dev "$IF_SND" clsact
deaf() {
	in_ns snd tc filter del dev "$IF_SND" ingress 2>/dev/null
	[[ $1 == off ]] || in_ns snd tc filter add dev "$IF_SND" ingress bpf da pinned "$progs/$1"
}

# Each connection has a process, as with programs that measure.
load || exit 1
deaf deaf
fault processes 4 "does not hear" "acknowledgements not heard" send_once
deaf off
gone processes-gone send_once

# One process has all of them.
load || exit 1
deaf deaf
begin_sink || exit 1
fault process 4 "does not hear" "acknowledgements not heard" send_one
deaf off
gone process-gone send_one
stop "$SINK" INT >/dev/null

# Frames do not reach the engine.
load || exit 1
in_ns rcv ip link add xiwm0 type veth peer name xiwm1
in_ns rcv ip link set xiwm0 up
spawn MISDIRECT rcv misdirect "$BUILD/tests/net/path/progress" "$_bpffs/xiwarp/$IF_RCV" xiwm0
wait_until 10 grep -q ready "$TMP/misdirect" || fail misdirect "$(cat "$TMP/misdirect")"
fault frames-lost 4 "are lost" "frames lost before AF_XDP" send_once
stop "$MISDIRECT"
gone frames-lost-gone send_once

# One peer alone does not hear: all others go direct.
load || exit 1
deaf deaf_one
for i in 3 4 5 6 9; do
	in_ns snd ip addr add "10.77.0.$i/24" dev "$IF_SND"
done
begin_sink || exit 1
source_is 10.77.0.9
fault one-peer 4 "does not hear" "acknowledgements not heard" send_one
source_is 10.77.0.3
lost_by 1 send_one && expect one-peer-harms-no-other was_direct
stop "$SINK" INT >/dev/null

# A host that is late itself: once may be an accident, also if the next connection goes direct for less than a second.
# Twice in a row it is none.
if [[ $(type -P strace) ]]; then
	load || exit 1
	begin_sink || exit 1
	spawn LATE rcv late "${traced[@]}" -f -p "$SINK" -o /dev/null \
		-e trace=io_uring_enter,epoll_pwait \
		-e inject=io_uring_enter,epoll_pwait:delay_exit=40000
	wait_until 10 grep -q '^TracerPid:.*[1-9]' "/proc/$SINK/status" ||
		fail late-host "$(cat "$TMP/late")"
	deaf deaf
	lost_by 1 send_one
	deaf off
	if met_once "$peer"; then
		lost_by 1 send_one && expect late-host-once was_direct
	else
		expect late-host-once holds "$peer"
	fi
	deaf deaf
	lost_by 1 send_one && meets send_one
	lost_by 20 send_one
	expect late-host-twice test "$lost" -eq 0
	expect late-host-says-why says_why "does not hear"
	deaf off
	stop "$LATE" INT >/dev/null
	stop "$SINK" INT >/dev/null
else
	skip late-host "there is no strace"
fi

# Three peers, and nobody's stretch carries: a fourth one does not stand still.
load || exit 1
deaf deaf
begin_sink || exit 1
for i in 3 4 5; do
	source_is 10.77.0.$i
	lost_by 1 send_one
	expect "peer-$i" test "$lost" -le 4
	meets send_one
done
source_is 10.77.0.6
lost_by 20 send_one
expect fourth-peer test "$lost" -eq 0
expect fourth-peer-says-why says_why "does not hear"
deaf off
gone fourth-peer-gone send_one
stop "$SINK" INT >/dev/null
finish
