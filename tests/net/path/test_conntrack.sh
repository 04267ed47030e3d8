#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 300
#
# A firewall that accepts in OUTPUT what conntrack knows, and that forgets a connection while it is direct: `conntrack
# -F`, a firewall that begins, an entry whose time is up. Plain TCP goes on, as its next incoming segment makes
# conntrack know it again. Promised: so do direct connections, without standing still for longer than a time-out.
. "${0%/*}/../lib/lib.sh"

if ! command -v nft >/dev/null; then
	skip conntrack "nft is not installed (tools/setup)"
	finish
fi

PORT=15044

# What `conntrack -F` sends: IPCTNL_MSG_CT_DELETE of NFNL_SUBSYS_CTNETLINK, for all.
forget() {
	in_ns rcv python3 -c '
import socket, struct, sys
s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12)
s.send(struct.pack("=IHHIIBBH", 20, 1 << 8 | 2, 1 | 4, 1, 0, 0, 0, 0))
sys.exit(struct.unpack("=i", s.recv(4096)[16:20])[0])'
}

# rules [LO]: LO is what OUTPUT and INPUT say of lo besides.
rules() {
	in_ns rcv nft -f - <<-R
		table inet filter {
			chain input {
				type filter hook input priority filter; policy drop;
				ct state { established, related } accept
				meta l4proto { icmp, ipv6-icmp } accept
				${1:+iif lo accept}
				tcp dport $PORT accept
			}
			chain output {
				type filter hook output priority filter; policy drop;
				ct state { established, related } accept
				meta l4proto { icmp, ipv6-icmp } accept
				${1:+oif lo accept}
				counter
			}
		}
	R
}

rules_gone() { in_ns rcv nft flush ruleset; }

# begin ADDRESS OPTION...: a client's run under way, direct at the server.
begin() {
	local at=$1
	shift
	[[ $at == *:* ]] && at="[$at]"
	spawn SERVER rcv server "$BUILD/xiwarp" perf -s --once --peer-timeout 8 --json
	wait_listen rcv "$PORT"
	spawn CLIENT snd client "$BUILD/xiwarp" perf --peer-timeout 20 --json "$@" "$at"
	wait_until 10 is_direct || { cat "$TMP/server" "$TMP/client"; return 1; }
}

status() { in_ns rcv "$BUILD/xiwarp" status "$IF_RCV" --json; }
is_direct() { status | grep -q '"path":"direct"'; }

# goes_on NAME: the run comes to its end.
goes_on() {
	local rc
	reap "$CLIENT" 40
	rc=$?
	if ((rc == 0)) && reap "$SERVER" 10; then
		pass "$1"
		return
	fi
	fail "$1" "client: exit code $rc: $(cat "$TMP/client" "$TMP/server")"
	stop "$CLIENT"
	stop "$SERVER"
}

dropped() { # has OUTPUT dropped anything?
	in_ns rcv nft list chain inet filter output | grep -Eq 'counter packets [1-9]'
}

# The longest of all round trips, in milliseconds, is at most this.
stood_at_most() { # MS
	python3 - "$TMP/client" "$1" <<-'PYTHON'
		import json, sys
		last = [l for l in open(sys.argv[1]) if l.startswith("{")][-1]
		ms = json.loads(last)["round_trip"]["max_us"] / 1000
		print("the longest round trip: %.1f ms" % ms)
		sys.exit(ms > float(sys.argv[2]))
	PYTHON
}
mostly_direct() {
	(($(field octets_direct "$TMP/server") > 9 * $(field octets_kernel "$TMP/server")))
}
remembered() { status | grep -q '"reason":"output dropped"'; }
fell_back() { status | grep -q '"output dropped":'; }
left_for() { grep -q '"left_direct":{[^}]*"output dropped":' "$TMP/server"; }

# Several times, as conntrack may forget at any moment of a round trip, but never again before the peer has been asked.
forgets_often() { # TIMES
	local i
	for ((i = 0; i < $1; i++)); do
		sleep 0.5
		forget || return
	done
}

# ---- answers: the peer sends nothing until it has one, and its requests have been acknowledged by AF_XDP
answers() { # NAME ADDRESS [LO]
	rules "${3-}"
	begin "$2" -o send --latency -t 7 || fail "$1-direct" "no direct stream"
	expect "$1-forgotten" forgets_often 12
	expect "$1-dropped" dropped
	goes_on "$1-goes-on"
	expect "$1-never-stands-still" stood_at_most 700
	expect "$1-stays-direct" mostly_direct
	rules_gone
}

wire_up plain 1500 || exit 1
wire_clamp 131072
load_patient rcv || fail load "exit code $?"

answers v4 "$V4_RCV"
answers v4-lo "$V4_RCV" lo
answers v6 "$V6_RCV"
answers v6-lo "$V6_RCV" lo

# ---- a firewall begins
begin "$V4_RCV" -o send --latency -t 3 || fail begins-direct "no direct stream"
sleep 0.5
rules
goes_on begins-goes-on
expect begins-never-stands-still stood_at_most 700
rules_gone

# ---- the first data: until the run's end the server sends nothing but acknowledgements, by AF_XDP
took_at_most() { # MS
	local ms=$(((${EPOCHREALTIME/./} - began) / 1000))
	echo "$ms ms"
	((ms <= $1))
}
first_data() { # NAME ADDRESS
	begin "$2" -o write -t 2 || fail "$1-direct" "no direct stream"
	began=${EPOCHREALTIME/./}
	sleep 1
	expect "$1-forgotten" forget
	goes_on "$1-goes-on"
	expect "$1-in-time" took_at_most 3500
	expect "$1-stays-direct" mostly_direct
}
rules
first_data first-data-v4 "$V4_RCV"
first_data first-data-v6 "$V6_RCV"

# ---- silence: the socket's keepalive probes are dropped, and no answer to them comes
silence() { # NAME ADDRESS
	begin "$2" -o send --latency -t 16 || fail "$1-direct" "no direct stream"
	kill -STOP "$CLIENT"
	sleep 0.2
	expect "$1-forgotten" forget
	sleep 14
	kill -CONT "$CLIENT"
	goes_on "$1-goes-on"
	expect "$1-dropped" dropped
	expect "$1-stays-direct" mostly_direct
}
silence silence-v4 "$V4_RCV"
silence silence-v6 "$V6_RCV"

# ---- no segment without data comes for a while: then the peer's data have to pass conntrack
begin "$V4_RCV" -o send --both -t 8 || fail data-direct "no direct stream"
in_ns snd nft -f - <<-R
	table inet filter {
		chain output {
			type filter hook output priority filter; policy accept;
			tcp dport $PORT tcp flags & (syn | fin | rst) == 0 meta length 52-64 drop
		}
	}
R
# What conntrack forgets while no stretch is under way, the peer's data make it know again.
forgotten_while_direct() {
	local i
	for ((i = 0; i < 5; i++)); do
		wait_until 3 is_direct && forget || return
		wait_until 2 fell_back && return
	done
	return 1
}
expect data-falls-back forgotten_while_direct
in_ns snd nft flush ruleset
goes_on data-goes-on
expect data-told left_for
expect data-remembered remembered
in_ns rcv "$BUILD/xiwarp" unload "$IF_RCV" >/dev/null || fail unload "exit code $?"
finish
