# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What a script reports, in the form that tests/run reads: pass NAME; fail NAME WHY; skip NAME WHY; expect NAME CMD...
_failures=0 _finished=0

pass() {
	echo "PASS $*"
}

fail() {
	echo "FAIL $1: ${*:2}"
	((_failures++))
}

skip() {
	echo "SKIP $1: ${*:2}"
}

# expect NAME CMD...: CMD's output is shown if it fails.
expect() {
	local name=$1 out rc
	shift
	out=$("$@" 2>&1)
	rc=$?
	if ((rc == 0)); then
		pass "$name"
	else
		[[ -n $out ]] && printf '%s\n' "$out"
		fail "$name" "exit code $rc: $*"
	fi
	return "$rc"
}

# Ends the script; its exit code tells whether a test failed.
finish() {
	_finished=1
	exit $((_failures > 0))
}
