#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 180
#
# What programs of libibverbs, librdmacm and libfabric hear of an interface: its link goes down and comes up, and
# nothing ends; it is removed, and everything on it ends at once, at both ends, as both are of one pair.
. "${0%/*}/../lib/lib.sh"
. "${0%/*}/foreign.sh"

here=$BUILD/tests/net/programs
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0:detect_leaks=0

# on SIDE VAR LOG COMMAND...
on() {
	local ifname=$IF_RCV
	[[ $1 == snd ]] && ifname=$IF_SND
	spawn "$2" "$1" "$3" "$BUILD/xiwarp" run --path "$path" --if "$ifname" -- "${@:4}"
}

# hears SECONDS WORDS: both have.
hears() {
	wait_until "$1" grep -qs "$2" "$TMP/passive" && wait_until "$1" grep -qs "$2" "$TMP/active"
}

connected() {
	on rcv passive passive "$here/verbs_ports" passive $V4_RCV 7301
	wait_listen rcv 7301 30 || return
	on snd active active "$here/verbs_ports" active $V4_RCV 7301
	hears 30 established
}

# The link of one end goes with that of the other.
goes_down_and_up() {
	in_ns snd ip link set "$IF_SND" down
	hears 20 'port error.*down' || return
	in_ns snd ip link set "$IF_SND" up
	hears 20 'port active.*active'
}

is_removed() {
	local rc=0
	in_ns snd ip link del "$IF_SND"
	reap "$passive" 30 || rc=$?
	reap "$active" 30 || rc=$?
	hears 1 'catastrophic.*down' && hears 1 'DEVICE_REMOVAL, of the connection' &&
		grep -q 'DEVICE_REMOVAL, of the listener' "$TMP/passive" && return "$rc"
}

case_of() {
	local rc=0
	connected && goes_down_and_up && is_removed || rc=1
	cat "$TMP/passive" "$TMP/active"
	return "$rc"
}

# asyncwatch: the program that everybody knows.
asyncwatch() {
	local watch rc
	on rcv watch watch stdbuf -oL ibv_asyncwatch -d "xiw_$IF_RCV"
	wait_until 20 grep -qs 'async event FD' "$TMP/watch" || return
	in_ns rcv ip link set "$IF_RCV" down
	wait_until 20 grep -q PORT_ERR "$TMP/watch"
	rc=$?
	in_ns rcv ip link set "$IF_RCV" up
	((rc == 0)) && wait_until 20 grep -q PORT_ACTIVE "$TMP/watch"
	rc=$?
	stop "$watch"
	cat "$TMP/watch"
	return $rc
}

# Both ends of libfabric's hear FI_SHUTDOWN, and close what they have.
fabric() {
	local server client rc=0
	wait_until 10 _port_free rcv 7303
	spawn server rcv passive env XIWARP_PATH="$path" FI_PROVIDER_PATH="$BUILD" \
		"$here/fabric_crowd" server $V4_RCV 7303 1 1 0 -
	wait_listen rcv 7303 30 || { cat "$TMP/passive"; return 1; }
	rm -rf "$TMP/steps"
	mkdir "$TMP/steps" && mkfifo "$TMP/steps/removed" # not where the logs are
	# shellcheck disable=SC2016
	spawn client snd active env XIWARP_PATH="$path" FI_PROVIDER_PATH="$BUILD" \
		sh -c 'exec "$@" <"$0"' "$TMP/steps/removed" "$here/fabric_crowd" waits $V4_RCV 7303
	exec 9>"$TMP/steps/removed"
	hears 30 established || rc=1
	in_ns snd ip link del "$IF_SND"
	exec 9>&-
	reap "$server" 30 || rc=$?
	reap "$client" 30 || rc=$?
	cat "$TMP/passive" "$TMP/active"
	awk '/gone after/ && $3 < 5000 { soon = 1 } END { exit !soon }' "$TMP/active" &&
		return "$rc"
}

load_both() {
	wire_up plain 1500 1 || exit 1
	for side in rcv snd; do
		ifname=$IF_RCV
		[[ $side == snd ]] && ifname=$IF_SND
		in_ns "$side" "$BUILD/xiwarp" load "$ifname" >/dev/null || exit 1
	done
}

for path in kernel direct; do
	load_both
	[[ $path == direct ]] || expect asyncwatch asyncwatch
	expect "$path" case_of
	wire_down
	load_both
	expect "$path-libfabric" fabric
	wire_down
done
finish
