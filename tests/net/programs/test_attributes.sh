#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 120
#
# Each attribute that a program of libibverbs, librdmacm or libfabric can set does something, has no meaning for iWARP,
# or is refused: as the tables of xiwarp-attributes(7) have it, row for row.
. "${0%/*}/../lib/lib.sh"
. "${0%/*}/foreign.sh"

programs=$BUILD/tests/net/programs page=$ROOT/tools/xiwarp/xiwarp-attributes.7
export FI_PROVIDER_PATH=$BUILD
# The preloaded library is before the sanitizer's.
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0

# rows SECTION: the call, the attribute and what becomes of it, of each row of the section's tables.
rows() {
	awk -v section="$1" -F '\t' '
		$0 == ".SH " section { on = 1; next }
		/^\.SH / { on = 0 }
		on && /^\.SS / { call = substr($0, 5) }
		on && NF >= 2 && !/^\./ { print call "\t" $1 "\t" $2 }' "$page"
}

# as_the_page_says SECTION COMMAND...
as_the_page_says() {
	local section=$1 rc
	shift
	in_ns rcv "$@" >"$TMP/rows" 2>"$TMP/wrong"
	rc=$?
	cat "$TMP/wrong"
	rows "$section" >"$TMP/page"
	diff "$TMP/page" "$TMP/rows" || { echo "xiwarp-attributes(7) (<) differs"; return 1; }
	((rc == 0 && $(wc -l <"$TMP/rows") > 80))
}

wire_up plain 1500 1 || exit 1
expect verbs as_the_page_says "LIBIBVERBS AND LIBRDMACM" \
	"$BUILD/xiwarp" run --extended --path kernel --if "$IF_RCV" -- \
	"$programs/attributes_verbs" "$V4_RCV"
if [[ $foreign_why ]]; then
	skip libfabric "$foreign_why"
else
	expect libfabric as_the_page_says LIBFABRIC "${foreign[@]}" env XIWARP_PATH=kernel \
		"$programs/attributes_fabric" "$V4_RCV"
fi
finish
