# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Sourced by the tests that run programs of others over the preloaded library.
#
#   load_both                              the programs of XDP and TC on both ends of the wire
#   both NAME SERVER PORT CLIENT [SECONDS] SERVER on rcv, CLIENT on snd; both must succeed, and who received more than
#                                          1 MiB must have received 95 % of it ($least) by the direct path
#   service NAME SERVER PORT CLIENT [SECONDS]  the same with a server that goes on, and is stopped
#
# Server and client must report what they received, or those that $reports names: a program that is stopped may not
# come to it.
#
# Both are started by the command in the array `as`, if it is set, and by `xiwarp run`, unless the test has set the
# arrays `rcv` and `snd` to something else.

. "$ROOT/tests/net/programs/direct.sh"
. "$ROOT/tests/net/programs/foreign.sh"

xiwarp=$BUILD/xiwarp as=()
rcv=("${foreign[@]}" "$xiwarp" run --report --if "$IF_RCV" --)
snd=("${foreign[@]}" "$xiwarp" run --report --if "$IF_SND" --)

if [[ $foreign_why ]]; then
	skip programs "$foreign_why"
	finish
fi

load_both() {
	load_patient rcv && load_patient snd
}

_silent() {
	_port_free "$1" "$2"
}

# NAME SERVER PORT: starts it on rcv, with its pid in $server.
_serve() {
	# A server before this one may be listening still: the kernel ends an io_uring later than its process.
	wait_until 10 _silent rcv "$3"
	# The commands are words of ours, without blanks in them.
	# shellcheck disable=SC2086
	spawn server rcv server "${as[@]}" "${rcv[@]}" $2
	wait_listen rcv "$3" && return
	fail "$1" "the server does not listen: $(tail -n 5 "$TMP/server")"
	stop "$server"
	return 1
}

# NAME CLIENT SECONDS: runs it on snd; if it fails, so does the server.
_ask() {
	local client rc
	# shellcheck disable=SC2086
	spawn client snd client "${as[@]}" "${snd[@]}" $2
	reap "$client" "$3"
	rc=$?
	((rc)) || return 0
	((rc == 124)) && stop "$client"
	fail "$1" "the client: exit code $rc: $(tail -n 5 "$TMP/client")" \
		"the server: $(tail -n 5 "$TMP/server")"
	stop "$server"
	return 1
}

# NAME: both have ended well; passes if what they received was direct.
_judge() {
	local log
	for log in ${reports:-server client}; do
		if ! direct_enough "$TMP/$log" "${least:-95}"; then
			fail "$1" "the $log: $(grep 'xiwarp: ' "$TMP/$log" || echo no report)"
			return
		fi
	done
	pass "$1 ($(received "$TMP/server" "$TMP/client" | sed 's/.* \(.*\)/\1 %/' | paste -sd,))"
}

both() {
	local server rc
	_serve "$1" "$2" "$3" && _ask "$1" "$4" "${5:-60}" || return
	reap "$server" 20
	rc=$?
	if ((rc)); then
		fail "$1" "the server: exit code $rc: $(tail -n 5 "$TMP/server")"
		((rc == 124)) && stop "$server"
		return
	fi
	_judge "$1"
}

service() {
	local server
	_serve "$1" "$2" "$3" && _ask "$1" "$4" "${5:-60}" || return
	stop "$server"
	_judge "$1"
}
