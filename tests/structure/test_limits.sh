#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# ARCHITECTURE.md's tables of limits have all times of the tree, and every limit that a peer could stretch is walked.
. "${0%/*}/../report.sh"
cd "${0%/*}/../.." || exit
export LC_ALL=C

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

true_tables() {
	local found
	found=$(tests/structure/limits "$PWD" ARCHITECTURE.md)
	[[ -z $found ]] || { echo "$found"; return 1; }
}

# The page, wrong in each way.
sed -e 's/`spin_us`, //' -e 's/`hold_ms`/`held_ms`/' -e 's/ GRACE_MS//' \
	-e 's/ BIND_MS / BOUND_MS /' -e 's/`--watch`/`--look`/' \
	-e 's/requested, listening, rtr/requested, listening, idle/' \
	-e 's/: failed, failed-all/ has it/' \
	-e 's/test_serve.sh`: idle-trickles/test_none.sh`: idle/' \
	-e 's/a_trickle_is_idle/a_flood_is_idle/' ARCHITECTURE.md >"$tmp/page.md"
wrong='no peer trickles: idle
no such file: tests/net/admin/test_none.sh
nobody walks: `terminate_timeout_ms`
not in a table: --watch
not in a table: hold_ms
not in a table: spin_us
not in a table: user/conn/unstarted.c:GRACE_MS
not in a table: user/group/listen.c:BIND_MS
not in tests/unit/test_tool_quota.c: a_flood_is_idle
not in the tree: --look
not in the tree: held_ms
not in the tree: user/group/listen.c:BOUND_MS
walked, and in no row: failed
walked, and in no row: failed-all
walked, and in no row: rtr'
found=$(tests/structure/limits "$PWD" "$tmp/page.md" | sort)
if [[ $found == "$wrong" ]]; then
	echo "found: ${wrong//$'\n'/$'\nfound: '}"
	pass wrong-tables
else
	diff <(echo "$wrong") <(echo "$found")
	fail wrong-tables "not the expected errors"
fi
expect true-tables true_tables
finish
