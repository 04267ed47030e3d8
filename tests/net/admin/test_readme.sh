#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# README's five minutes in two network namespaces, word for word but for the names. timeout: 120
. "${0%/*}/../lib/lib.sh"

# Other runs have namespaces, interfaces and files of their own.
commands() {
	sed -n '/^    ip netns add/,/^    ip netns del/s/^    //p' "$ROOT/README.md" |
		sed -e "s/\<rcv\>/$(_ns rcv)/g; s/\<snd\>/$(_ns snd)/g; s/veth0/$IF_RCV/g" \
			-e "s|/tmp/|$TMP/|g; s|xiwarp \([a-z]* \)|'$BUILD/xiwarp' \1|g"
}

commands >"$TMP/commands"
expect has-commands [ "$(grep -c "$BUILD/xiwarp" "$TMP/commands")" = 4 ]
spawn pid host out bash -eux "$TMP/commands"
reap "$pid" 60
rc=$?
((rc == 124)) && stop "$pid"
((rc == 0)) && pass five-minutes || fail five-minutes "exit code $rc: $(<"$TMP/out")"
share=$(sed -n 's/^big from .* \([0-9]*\)\.[0-9]* % direct, .*GMAC equal.*/\1/p' "$TMP/out")
((${share:-0} >= 90)) && pass direct || fail direct "$(<"$TMP/out")"
expect nothing-left [ -z "$(ip netns list | grep "$(_ns '')")" ]
finish
