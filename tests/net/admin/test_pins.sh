#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# A wrong directory of pins is told as such, by each command that looks for pins, with programs on the interface and
# without.
. "${0%/*}/../lib/lib.sh"

xiwarp=$BUILD/xiwarp
load() { in_ns rcv "$xiwarp" load "$@" >/dev/null; }
unload() { in_ns rcv "$xiwarp" unload "$@" >/dev/null; }

wire_up plain || exit 1
mkdir -m 700 "$TMP/in"
nowhere=/sys/fs/bpf/xiw-none-$$
wrong() { # NAME
	refused "$1-no-directory" 4 "$nowhere does not exist" "$xiwarp" serve --path direct \
		--pin-dir "$nowhere" "$TMP/in"
	refused "$1-no-bpffs" 4 "$TMP/in is not on a BPF file system" "$xiwarp" serve \
		--path direct --pin-dir "$TMP/in" "$TMP/in"
	refused "$1-status-no-directory" 4 "$nowhere does not exist" \
		"$xiwarp" status "$IF_RCV" --pin-dir "$nowhere"
	refused "$1-run-no-directory" 4 "$nowhere does not exist" \
		"$xiwarp" run --if "$IF_RCV" --path direct --pin-dir "$nowhere" true
}
says_where() { in_ns rcv "$xiwarp" status --pin-dir "$nowhere" | tee "$TMP/err" |
	grep -q "$nowhere does not exist"; }
wrong unloaded
expect unloaded-status-all says_where
expect wrong-load load "$IF_RCV"
wrong loaded
refused loaded-status-all 4 "$nowhere does not exist" "$xiwarp" status --pin-dir "$nowhere"
mkdir -m 700 "$nowhere"
refused loaded-elsewhere 4 "are not in $nowhere" "$xiwarp" serve --path direct \
	--pin-dir "$nowhere" "$TMP/in"
rmdir "$nowhere"
expect wrong-unload unload "$IF_RCV"
finish
