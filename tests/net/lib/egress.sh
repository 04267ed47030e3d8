# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Sourced by lib.sh.
#
#   egress_of SIDE IF    how often the kernel runs xiw_egress there, by tcx or as a filter of clsact
#   egress_off SIDE IF   detaches it as other tools do

egress_of() {
	{
		in_ns "$1" tc filter show dev "$2" egress 2>/dev/null |
			grep 'xiw_egress.*direct-action'
		in_ns "$1" "$BUILD/tests/net/lib/tcx" list "$2" 2>/dev/null | grep xiw_egress
	} | wc -l
}

egress_off() {
	local link=$_bpffs/xiwarp/$2/xiw_egress_link
	if [[ -e $link ]]; then
		in_ns "$1" bpftool link detach pinned "$link"
	else
		in_ns "$1" tc filter del dev "$2" egress
	fi
}
