#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# `xiwarp rping` and servers that let it wait: for ever, or as long as a ping takes on a narrow wire.
. "${0%/*}/../lib/lib.sh"

xiwarp=$BUILD/xiwarp
server=

# client OPTION...: its report is in client, its exit code is returned.
client() {
	in_ns rcv timeout 40 "$xiwarp" rping --path kernel --json -c -a 127.0.0.1 -p 15046 "$@" \
		>"$TMP/client" 2>&1
}

reported() { # CODE WORDS OPTION...
	local rc
	client "${@:3}"
	rc=$?
	((rc == $1)) && grep -q -- "$2" "$TMP/client" && return
	echo "exit code $rc: $(<"$TMP/client")"
	return 1
}

wire_up plain || exit 1

# It accepts, takes what comes, and says nothing.
spawn server rcv server "$xiwarp" sink --path kernel --listen 127.0.0.1:15046
wait_listen rcv 15046
silence='"terminate_sent":null,.*"error":"the server does not answer any more"'
expect mute reported 7 "$silence" --peer-timeout 1
stop "$server" INT

# It speaks MPA, and asks for 100 RDMA Reads at a time, where 16 were offered (RFC 6581 section 8).
reply='"MPA ID Rep Frame" + struct.pack(">BBHHH", 0x50, 2, 4, 0, 100)'
spawn server rcv server python3 -c "import socket, struct, time
l = socket.create_server(('127.0.0.1', 15046))
s = l.accept()[0]
s.sendall(b$reply)
time.sleep(60)"
wait_listen rcv 15046
expect wrong-reply reported 7 'whose MPA Reply is wrong: MPA error 6'
stop "$server"

# Each way takes longer than the limit, but octets go all the time.
if in_ns rcv tc qdisc add dev lo root tbf rate 40mbit burst 256k latency 1s 2>/dev/null; then
	spawn server rcv server "$xiwarp" rping --path kernel -s -a 127.0.0.1 -p 15046 -S 12M
	wait_listen rcv 15046
	expect narrow reported 0 '"iterations":1,' --peer-timeout 2 -C 1 -S 12M
	stop "$server"
else
	skip narrow "the kernel has no tbf"
fi
finish
