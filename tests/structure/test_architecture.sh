#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Everything that the pages name exists: files, functions where they are said to be, lines of code, names of ours.
. "${0%/*}/../report.sh"
cd "${0%/*}/../.." || exit
export LC_ALL=C

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

true_page() {
	local found
	found=$(tests/structure/names "$PWD" "$1") || return
	[[ -z $found ]] || { echo "$found"; return 1; }
}

# A page that is wrong in each way, and right in each.
cat >"$tmp/page.md" <<'END'
`user/tcp/recv.c:xiw_tcp_rx_segment()` `xiw_tcp_rx_advance()` `tests/unit/*.c` `recv()` `xiw_<x>()`
| `user/tcp/recv.c:xiw_tcp_rx_segment()` | `rx->now_ms = now_ms;` | struct xiw_tcp_rx
`user/tcp/none.c`
`tests/unit/none_*.c`
`no_such_function()`
`user/tcp/ack.c:xiw_tcp_rx_segment()`
`user/tcp/recv.h:xiw_tcp_rx_segment()` is declared there, and not defined
| `user/tcp/recv.c:xiw_tcp_rx_segment()` | `rx->now_ms = never;` |
| `user/tcp/recv.c:xiw_tcp_rx_advance()` | `rx->now_ms = now_ms;` |
struct xiw_no_such_struct, XIW_NO_SUCH_NUMBER
END
wrong='page.md:3: no file user/tcp/none.c
page.md:4: no file tests/unit/none_*.c
page.md:5: no function no_such_function()
page.md:6: user/tcp/ack.c does not define xiw_tcp_rx_segment()
page.md:7: user/tcp/recv.h does not define xiw_tcp_rx_segment()
page.md:8: not in user/tcp/recv.c:xiw_tcp_rx_segment(): rx->now_ms = never;
page.md:9: not in user/tcp/recv.c:xiw_tcp_rx_advance(): rx->now_ms = now_ms;
page.md:10: nothing is called xiw_no_such_struct
page.md:10: nothing is called XIW_NO_SUCH_NUMBER'
found=$(tests/structure/names "$PWD" "$tmp/page.md")
if [[ ${found//"$tmp/"/} == "$wrong" ]]; then
	echo "found: ${wrong//$'\n'/$'\nfound: '}"
	pass wrong-page
else
	diff <(echo "$wrong") <(echo "${found//"$tmp/"/}")
	fail wrong-page "not the expected errors"
fi

for page in ARCHITECTURE.md CONTRIBUTING.md README.md vmtest/README.md; do
	expect "${page%.md}" true_page "$page"
done
finish
