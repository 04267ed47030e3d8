# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Sourced first by a script that a user runs in a terminal: runs the rest of the script in a child, with the same $$.
#
# bash loses a SIGINT that arrives while it waits for the end of a command substitution, but no other signal, and no
# SIGINT while the builtin `wait` runs. The parent does nothing but wait, and passes SIGINT on as SIGTERM.

_attend() {
	local child='' interrupted=0 rc

	trap 'interrupted=1; kill -TERM $child 2>/dev/null' INT
	trap 'kill -TERM $child 2>/dev/null' TERM
	trap 'kill -HUP $child 2>/dev/null' HUP
	# shellcheck disable=SC1090
	(_attended=1; . "$0" "$@") &
	child=$!
	((interrupted)) && kill -TERM "$child"
	while kill -0 "$child" 2>/dev/null; do
		wait "$child"
	done
	wait "$child"
	rc=$?
	((interrupted && rc == 143)) && rc=130
	exit "$rc"
}

[[ -n ${_attended:-} ]] || _attend "$@"
