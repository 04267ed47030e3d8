#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# A script that sources attend.sh and lib.sh ends by a signal, and cleans up, whenever the signal comes. timeout: 240
. "${0%/*}/lib.sh"

mkdir "$TMP/its"
# After each long expansion, bash may find the signal when it begins to parse the command substitution.
cat >"$TMP/script" <<'END'
. "$ROOT/tests/attend.sh"
. "$ROOT/tests/net/lib/lib.sh"
text=$(head -c 300 /dev/zero | tr '\0' a)
echo ready
for ((i = 0; i < 10000; i++)); do
	: "${text//a/bb}${text//a/cc}${text//a/dd}$(:)"
done
exit 1
END

# ends SIGNAL CODE: each of 30 runs of the script, which would last for ten seconds and more.
ends() {
	local pid rc
	for _ in {1..30}; do
		: >"$TMP/said"
		spawn pid host said env ROOT="$ROOT" TMPDIR="$TMP/its" bash "$TMP/script"
		wait_until 20 grep -q ready "$TMP/said"
		sleep "0.0$((RANDOM % 90 + 10))"
		kill -"$1" "$pid"
		reap "$pid" 30
		rc=$?
		if ((rc != $2)) || [[ $(cat "$TMP/said") != ready || -n $(ls "$TMP/its") ]]; then
			echo "exit code $rc: $(cat "$TMP/said") $(ls "$TMP/its")"
			return 1
		fi
	done
}

expect interrupt-int ends INT 130
expect interrupt-term ends TERM 143
expect interrupt-hup ends HUP 129
finish
