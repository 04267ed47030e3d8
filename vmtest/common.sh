# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# For both ends of a scenario, which share the directory $RESULTS.
#
#   say WORD [VALUE]           tell the other end WORD, with a value
#   meet WORD [SECONDS]        wait until the other end says WORD; print its value
#   pass, fail, skip, expect   as in tests/report.sh
#   patiently SECONDS CMD...   run CMD with this time limit, which is longer if the VM is emulated
#   listening PORT [PREFIX]    wait until `PREFIX ss` shows a listener on PORT
BUILD=$XIW_BUILD
V4_PEER=10.77.0.1 V4_GUEST=10.77.0.2 V6_PEER=fd77::1 V6_GUEST=fd77::2
. tests/report.sh

say() {
	printf '%s\n' "${2:-}" >"$RESULTS/.$1.part"
	mv "$RESULTS/.$1.part" "$RESULTS/.$1"
}

meet() {
	local end=$((SECONDS + ${2:-60} * XIW_PATIENCE))
	until [[ -e $RESULTS/.$1 ]]; do
		((SECONDS < end)) || {
			fail "meet-$1" "the other end did not say $1"
			return 1
		}
		sleep 0.1
	done
	cat "$RESULTS/.$1"
}

patiently() {
	timeout $(($1 * XIW_PATIENCE)) "${@:2}"
}

listening() {
	local i
	for ((i = 0; i < 300; i++)); do
		[[ -n $(${2:-} ss -Htln "sport = :$1") ]] && return
		sleep 0.1
	done
}
