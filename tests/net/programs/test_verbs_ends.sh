#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 300
#
# How connections, work and objects end, as a program of libibverbs and librdmacm sees it: verbs_ends.c on both ends of
# a wire of two namespaces, by both paths.
. "${0%/*}/../lib/lib.sh"
. "${0%/*}/foreign.sh"

ends=$BUILD/tests/net/programs/verbs_ends
# The preloaded library is before the sanitizer's.
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0
asan=$ASAN_OPTIONS

# on SIDE LOG VAR ROLE CASE PATH
on() {
	local ifname=$IF_RCV
	[[ $1 == snd ]] && ifname=$IF_SND
	spawn "$3" "$1" "$2" "$BUILD/xiwarp" run --report --path "$6" --if "$ifname" -- \
		"$ends" "$4" "$5" "$host" 7301
}

# judge CASE: both sides end as they should: the one that is to be killed, so.
judge() {
	local passive active rc_passive rc_active want_passive=0 want_active=0
	case $1 in
	passive-killed) want_passive=137 ;;
	*active-killed) want_active=137 ;;
	esac
	# These leave objects behind: a parent in its child, and an event that nobody can take.
	case $1 in
	fork | channel-destroyed) ASAN_OPTIONS=$asan:detect_leaks=0 ;;
	*) ASAN_OPTIONS=$asan ;;
	esac
	wait_until 10 _silent || return
	on rcv passive passive passive "$1" "$path"
	wait_listen rcv 7302 || { stop "$passive"; cat "$TMP/passive"; return 1; }
	on snd active active active "$1" auto
	reap "$active" 70
	rc_active=$?
	((rc_active == 124)) && stop "$active"
	reap "$passive" 30
	rc_passive=$?
	((rc_passive == 124)) && stop "$passive"
	cat "$TMP/passive" "$TMP/active"
	((rc_active == want_active && rc_passive == want_passive)) && return
	echo "exit codes: active $rc_active, passive $rc_passive"
	return 1
}

_silent() {
	_port_free rcv 7301 && _port_free rcv 7302
}

wire_up plain 1500 1 || exit 1
wire_clamp 262144
for side in rcv snd; do
	ifname=$IF_RCV
	[[ $side == snd ]] && ifname=$IF_SND
	in_ns "$side" "$BUILD/xiwarp" load "$ifname" >/dev/null || exit 1
done
host=$V4_RCV
for path in kernel direct; do
	for name in $("$ends" list); do
		[[ -z ${CASE:-} || $name == "$CASE" ]] || continue
		if [[ ${foreign[*]} && " thousand cancelled " == *" $name "* ]]; then
			skip "$path-$name" "AddressSanitizer takes memory, and no cancelled threads"
			continue
		fi
		expect "$path-$name" judge "$name"
		[[ $name != traffic-class ]] || host=$V6_RCV expect "$path-$name-v6" judge "$name"
	done
done
finish
