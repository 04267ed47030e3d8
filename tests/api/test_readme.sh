#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What README and the man pages show: the receiver compiles without a warning, has 40 lines at most, and receives, as
# the example in an epoll loop does, whose timer goes on beside it; the pages are free of errors.
. "${0%/*}/../report.sh"
cd "${0%/*}/../.." || exit

BUILD=$(realpath "${XIW_BUILD:-build}")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
libs=(-lxdp -lbpf -luring -pthread) sanitizers=()
[[ $BUILD == */san ]] && sanitizers=(-fsanitize=address,undefined)

sed -n '/^```c$/,/^```$/{/^```/!p}' README.md >"$tmp/receiver.c"

# receives PROGRAM LINE...: what it prints. Root has a network namespace for it, where nobody else has the port.
receives() {
	local program=$1
	shift
	# shellcheck disable=SC2016
	unshare --net bash -c '
		ip link set lo up || exit
		# stdbuf preloads a library, which AddressSanitizer takes for a mistake.
		export ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0
		stdbuf -o0 "$1" >"$0/out" &
		for ((i = 0; i < 100; i++)); do
			[[ -n $(ss -Hltn "sport = :15044") ]] && break
			sleep 0.05
		done
		timeout 10 "$2/example_send" localhost 15044 "some text"
		for ((i = 0; i < 200; i++)); do
			(($(wc -l <"$0/out") >= $3)) && break
			sleep 0.05
		done
		kill "$!"' "$tmp" "$program" "$BUILD" $#
	cat "$tmp/out"
	[[ $(<"$tmp/out") == "$(printf '%s\n' "$@")" ]]
}

expect receiver-lines [ "$(wc -l <"$tmp/receiver.c")" -le 40 ]
expect receiver-compiles gcc -std=c11 -Wall -Wextra -pedantic -Werror -Iinclude "${sanitizers[@]}" \
	-o "$tmp/receiver" "$tmp/receiver.c" "$BUILD/libxiwarp.a" "${libs[@]}"
if ((EUID)); then
	skip receiver-receives "needs root, for a network namespace"
	skip epoll-receives "needs root, for a network namespace"
else
	expect receiver-receives receives "$tmp/receiver" "9 octets at 0"
	expect epoll-receives receives "$BUILD/example_epoll" "9 octets at 0" "9 octets in a second"
fi

page() {
	local errors
	errors=$(groff -t -man -Tutf8 -ww -z "$1" 2>&1)
	echo "$errors"
	[[ -z $errors ]]
}
if type groff >/dev/null 2>&1; then
	expect man-1 page "$BUILD/xiwarp.1"
	for name in tools/xiwarp/*.7; do
		expect "man-7-$(basename "$name" .7)" page "$name"
	done
else
	skip man "groff is not installed"
fi
finish
