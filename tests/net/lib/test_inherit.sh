#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# A test does not depend on the open files, settings and ignored signals of its caller: tests/run gives each test the
# same. Different callers run a tree with one test in it, which prints what it has inherited. timeout: 60
. "${0%/*}/lib.sh"

tree=$TMP/tree
mkdir -p "$tree/tests/net/stub" "$tree/build/tests"
cp "$ROOT"/tests/{run,clean.sh,report.sh} "$tree/tests/"
cat >"$tree/tests/net/stub/test_stub.sh" <<'STUB'
{
	# Besides the three standard files, find has the directory itself open.
	find /proc/self/fd -mindepth 1 -printf '%f\n' | sort -n | tr '\n' ' '
	umask
	locale 2>/dev/null | sort | uniq
	ulimit -Sn
	ulimit -Sc
	sed -n '/^SigIgn\|^SigBlk/p' /proc/self/status
	env | sed 's/=.*//' | grep -v '^_$\|^CRITERION_OUTPUTS$' | sort
	pwd
} >"$XIW_OUT"
echo "PASS stub"
STUB

# caller NAME COMMANDS: runs the stub in a bash that has run COMMANDS before. Its output is in $TMP/said-NAME.
caller() {
	rm -f "$TMP/said-$1"
	ONLY=net/stub/test_stub XIW_BUILD=$tree/build XIW_OUT=$TMP/said-$1 bash -c "$2
		exec bash '$tree/tests/run'" >"$TMP/run-$1" 2>&1 </dev/null
	[[ -s $TMP/said-$1 ]] && grep -q '^1 passed, 0 failed' "$TMP/run-$1"
}

same() { # NAME COMMANDS
	caller "$1" "$2" || { cat "$TMP/run-$1"; return 1; }
	diff "$TMP/said-plain" "$TMP/said-$1"
}

expect plain caller plain ""
expect again same again ""
expect open-files same open-files "exec 9</dev/null 10</etc/passwd 77>/dev/null"
expect umask same umask "umask 077"
expect locale same locale "export LANG=de_DE.UTF-8 LANGUAGE=de LC_NUMERIC=tr_TR.UTF-8; unset LC_ALL"
expect locale-all same locale-all "export LC_ALL=tr_TR.UTF-8"
expect few-files same few-files "ulimit -Sn 256"
expect many-files same many-files \
	"ulimit -n 1048576 2>/dev/null || ulimit -Sn \$((\$(ulimit -Hn) - 1))"
expect core-files same core-files "ulimit -Sc \$(ulimit -Hc)"
expect ignored-signals same ignored-signals "trap '' PIPE HUP USR1 TERM"
expect environment same environment \
	"export COLUMNS=20 TZ=Asia/Tokyo POSIXLY_CORRECT=1 SEED=7 LIBXDP_BPFFS=/nowhere"
finish
