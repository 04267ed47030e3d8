# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Sourced by the tests of faults, after lib.sh. A receiver (trouble.c) and a sender (trouble_send.c) are called by a
# name and an ID: a receiver takes any number of connections, each one with an ID of its own.
#
#   receive NAME [OPTION...]      starts a receiver, pid to RECV_NAME; its lines are in $TMP/NAME
#   transmit ID [OPTION...]       starts a sender of connection ID to $V4_RCV, pid to SEND_ID; its line: $TMP/send-ID
#   under_way NAME ID direct|kernel   waits until octets of the connection have come by that path, and it is on it
#   stays_direct NAME ID          is it direct? If this machine let the engine stand still, it is soon
#   moves NAME ID                 waits until more octets of the connection are delivered than when it was called
#   finishes TEST NAME ID         tells the sender to finish: complete at both ends, every octet delivered
#   breaks TEST ID [ERROR]        the sender sees its connection fail, and how
#   ended_with TEST NAME ID ERROR the receiver was told that the connection ended, and why
#   told NAME ID WORDS            waits until the connection is said to have no direct path, in these words
#   fds_at_most PID N             has the process no more file descriptors than that?
#   no_trace TEST                 no flow of the interface is left, and no entry of its index
#   quit TEST NAME                a receiver ends when told to, without a wrong octet

xiwarp=$BUILD/xiwarp
pins=/sys/fs/bpf/xiwarp/$IF_RCV
LONG=30 # seconds after which something that should happen counts as never happening

load() { in_ns rcv "$xiwarp" load "$IF_RCV" "$@" >/dev/null; }
unload() { in_ns rcv "$xiwarp" unload "$IF_RCV" "$@"; }
json() { in_ns rcv "$xiwarp" status --json "$IF_RCV" 2>/dev/null; }

receive() {
	local name=$1
	shift
	rm -f "$TMP/$name.state"
	: >"$TMP/$name"
	spawn "RECV_$name" rcv "$name" "$BUILD/tests/net/faults/trouble" -o "$TMP/$name.state" "$@"
	wait_until "$LONG" grep -q '^ready' "$TMP/$name" ||
		fail "receiver-$name" "$(cat "$TMP/$name")"
}

transmit() {
	local id=$1
	shift
	spawn "SEND_$id" snd "send-$id" "$BUILD/tests/net/faults/trouble_send" -n "$id" "$@" \
		"$V4_RCV"
}

# state NAME ID KEY
state() {
	sed -n "s/^{\"id\":$2,.*\"$3\":\"\{0,1\}\([^\",}]*\)[\",}].*/\1/p" \
		"$TMP/$1.state" 2>/dev/null
}

octets() {
	local n
	n=$(state "$1" "$2" octets)
	echo "${n:-0}"
}

_on_path() { # NAME ID PATH
	local path
	path=$(state "$1" "$2" path)
	# An armed stream is still on the kernel path, and so is a connection that XDP does not know, which has no
	# path.
	[[ $path == none || $path == armed ]] && path=kernel
	[[ $(state "$1" "$2" state) == open && $path == "$3" &&
		$(state "$1" "$2" "octets_$3") -gt 1000000 ]]
}

under_way() {
	wait_until "$LONG" _on_path "$1" "$2" "$3" ||
		fail "connection-$2" "never $3: $(cat "$TMP/$1" "$TMP/$1.state" "$TMP/send-$2")"
}

# XDP gives the streams of an engine that stands still to the kernel, and counts that.
stays_direct() {
	_on_path "$1" "$2" direct && return
	grep -Eq "\"id\":$2,.*\"(watchdog|frames lost before AF_XDP)\":" "$TMP/$1.state" &&
		wait_until "$LONG" _on_path "$1" "$2" direct
}

_beyond() { (($(octets "$1" "$2") > $3)); }

moves() {
	wait_until "$LONG" _beyond "$1" "$2" $(($(octets "$1" "$2") + 1000000))
}

_closed() { [[ $(state "$1" "$2" state) == closed ]]; }

finishes() {
	local pid=SEND_$3 rc sent
	kill -USR1 "${!pid}" 2>/dev/null
	reap "${!pid}" "$LONG"
	rc=$?
	sent=$(sed -n 's/.*"sent":\([0-9]*\).*/\1/p' "$TMP/send-$3")
	if ((rc)); then
		fail "$1" "sender of $3: exit code $rc:" \
			"$(cat "$TMP/send-$3" "$TMP/$2" "$TMP/$2.state")"
	elif ! wait_until "$LONG" _closed "$2" "$3"; then
		fail "$1" "the receiver was not told of the end: $(cat "$TMP/$2" "$TMP/$2.state")"
	elif [[ $(state "$2" "$3" status) != 0 || $(octets "$2" "$3") != "$sent" ||
		$sent == 0 ]]; then
		fail "$1" "sent $sent: $(cat "$TMP/$2" "$TMP/$2.state")"
	else
		pass "$1"
	fi
}

breaks() {
	local pid=SEND_$2 rc
	reap "${!pid}" "$LONG"
	rc=$?
	if ((rc == 7)) && grep -Eq "\"error\":\"(${3:-Connection reset by peer|Broken pipe})\"" \
		"$TMP/send-$2"; then
		pass "$1"
	else
		fail "$1" "exit code $rc: $(cat "$TMP/send-$2")"
	fi
}

_ended_with() { [[ $(state "$1" "$2" state) == closed && $(state "$1" "$2" error) == "$3" ]]; }

ended_with() {
	if wait_until "$LONG" _ended_with "$2" "$3" "$4"; then
		pass "$1"
	else
		fail "$1" "$(cat "$TMP/$2" "$TMP/$2.state")"
	fi
}

_index_empty() {
	! in_ns rcv bpftool -j map dump pinned "$pins/xiw_flow_index" | grep -q key
}

_told() { grep -q "\"id\":$2,.*\"no_direct\":\"[^\"]*$3" "$TMP/$1.state"; }

told() {
	wait_until "$LONG" _told "$@" || {
		cat "$TMP/$1.state"
		return 1
	}
}

# An engine collects a slot after the kernel has forgotten the connection, so the receiver must still run: a slot that
# it leaves waits for the next engine of the interface.
no_trace() {
	if ! json | grep -q '"flows":\[\]'; then
		fail "$1" "$(json)"
	elif ! wait_until "$LONG" _index_empty; then
		fail "$1" "$(in_ns rcv bpftool map dump pinned "$pins/xiw_flow_index")" \
			"$(in_ns rcv ss -tan)"
	else
		pass "$1"
	fi
}

# The state file is open now and then.
fds_at_most() { (($(find "/proc/$1/fd" -mindepth 1 | wc -l) <= $2)); }

quit() {
	local pid=RECV_$2 rc
	stop "${!pid}"
	rc=$?
	if ((rc == 0)) && grep -q '^end,' "$TMP/$2"; then
		pass "$1"
	else
		fail "$1" "exit code $rc: $(tail -n 5 "$TMP/$2")"
	fi
}
