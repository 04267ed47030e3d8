#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Signals while a command waits for something else than the wire: a name server that does not answer, a port that is in
# use. timeout: 90
. "${0%/*}/../lib/lib.sh"

xiwarp=$BUILD/xiwarp
wire_up plain

# A name server that takes questions and answers none.
printf 'nameserver %s\noptions timeout:20 attempts:1\n' "$V4_SND" >"$TMP/resolv.conf"
echo 'hosts: dns' >"$TMP/nsswitch.conf"
cat >"$TMP/mute.py" <<'PYTHON'
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((sys.argv[1], 53))
print("ready", flush=True)
while True:
    s.recv(512)
    print("asked", flush=True)
PYTHON
spawn mute snd mute python3 "$TMP/mute.py" "$V4_SND"
wait_until 10 grep -q ready "$TMP/mute" || fail mute "$(cat "$TMP/mute")"

# resolving NAME SIGNAL CODE COMMAND...: stopped while it asks.
resolving() {
	local signal=$1 code=$2 pid rc before
	shift 2
	before=$(wc -l <"$TMP/mute")
	spawn pid rcv resolve unshare --mount sh -c \
		"mount --bind '$TMP/resolv.conf' /etc/resolv.conf
		mount --bind '$TMP/nsswitch.conf' /etc/nsswitch.conf
		exec \"\$@\"" sh "$xiwarp" "$@"
	wait_until 10 _lines_over "$TMP/mute" "$before" || echo "not asked"
	kill -"$signal" "$pid"
	reap "$pid" 10
	rc=$?
	((rc == 124)) && stop "$pid" KILL
	cat "$TMP/resolve"
	((rc == code)) && [[ ! -s $TMP/resolve ]]
}

if unshare --mount mount --bind "$TMP/nsswitch.conf" /etc/nsswitch.conf 2>/dev/null &&
	[[ -e /etc/resolv.conf ]]; then
	mkdir "$TMP/in"
	echo file >"$TMP/file"
	expect resolving-put resolving INT 130 put "$TMP/file" receiver.example
	expect resolving-perf resolving TERM 143 perf receiver.example
	expect resolving-rping resolving INT 130 rping -c -a receiver.example
	expect resolving-serve resolving TERM 143 serve --path kernel --listen receiver.example \
		"$TMP/in"
	expect resolving-sink resolving HUP 129 sink --path kernel --listen receiver.example
else
	skip resolving "/etc/resolv.conf cannot be replaced in a mount namespace"
fi

# waiting COMMAND...: stopped while another process has the port.
waiting() {
	local pid rc
	spawn pid rcv waiting "$xiwarp" "$@"
	wait_until 5 test -e "/proc/$pid" && sleep 0.4
	kill -INT "$pid"
	reap "$pid" 5
	rc=$?
	cat "$TMP/waiting"
	((rc == 130)) && [[ ! -s $TMP/waiting ]]
}
mkdir -p "$TMP/in"
spawn other rcv other "$xiwarp" sink --path kernel --listen 127.0.0.1
wait_listen rcv 15044 || fail other "$(cat "$TMP/other")"
expect waiting-sink waiting sink --path kernel --listen 127.0.0.1
expect waiting-serve waiting serve --path kernel --listen 127.0.0.1 "$TMP/in"
stop "$other" INT

# What a signal has ended is not blamed on the peer: it takes the connection and says nothing.
cat >"$TMP/silent.py" <<'PYTHON'
import socket, sys, time
s = socket.create_server((sys.argv[1], int(sys.argv[2])))
c = [s.accept()[0]]
print("taken", flush=True)
time.sleep(60)
PYTHON
connecting() {
	local pid rc
	spawn pid rcv connecting "$xiwarp" perf 127.0.0.1:15045
	wait_until 10 grep -q taken "$TMP/silent"
	kill -INT "$pid"
	reap "$pid" 5
	rc=$?
	cat "$TMP/connecting"
	((rc == 130)) && [[ ! -s $TMP/connecting ]]
}
spawn silent rcv silent python3 "$TMP/silent.py" 127.0.0.1 15045
wait_listen rcv 15045 || fail silent "$(cat "$TMP/silent")"
expect connecting-perf connecting
stop "$silent"
finish
