#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Root, to whom a seccomp filter forbids bpf() or AF_XDP, as container engines do: the kernel path goes on, and each
# message names what forbids it, and no capability that is there.
. "${0%/*}/../lib/lib.sh"

xiwarp=$BUILD/xiwarp

# says NAME WORDS FILTER: what sink says before it listens, which it does.
says() {
	local name=$1 words=$2 sink
	spawn sink rcv sink "$BUILD/tests/net/lib/forbidden" "$3" -- \
		"$xiwarp" sink --listen $V4_RCV:15044
	wait_listen rcv 15044 || fail "$name-listens" "$(cat "$TMP/sink")"
	stop "$sink" INT
	expect "$name" grep -qF -- "no direct path: $words" "$TMP/sink"
	expect "$name-capability" eval '! grep -E "is missing|run as root" "$TMP/sink"'
}

# direct NAME CODE WORDS FILTER: the same where the direct path is insisted on.
direct() {
	local name=$1 code=$2 words=$3 filter=("$BUILD/tests/net/lib/forbidden" "$4" --)
	refused "$name-sink" "$code" "$words" "${filter[@]}" "$xiwarp" sink --path direct
	expect "$name-sink-capability" eval '! grep -E "is missing|run as root" "$TMP/err"'
	refused "$name-run" "$code" "$words" "${filter[@]}" "$xiwarp" run --path direct \
		--if "$IF_RCV" true
}

wire_up plain
in_ns rcv "$xiwarp" load "$IF_RCV" >/dev/null || fail load "exit code $?"
seccomp="a seccomp profile forbids it"
says bpf "pins of $IF_RCV by bpf(): $seccomp" bpf:EPERM
direct bpf 3 "pins of $IF_RCV by bpf(): $seccomp" bpf:EPERM
direct bpf-ENOSYS 6 "pins of $IF_RCV by bpf(): Function not implemented" bpf:ENOSYS
says xdp "AF_XDP on $IF_RCV queue 0: $seccomp" xdp:EPERM
direct xdp 3 "AF_XDP on $IF_RCV queue 0: $seccomp" xdp:EPERM
direct xdp-none 6 "this kernel has no AF_XDP, or a seccomp profile hides it" xdp:EAFNOSUPPORT
refused status 3 "cannot be read: $seccomp" "$BUILD/tests/net/lib/forbidden" bpf:EPERM -- \
	"$xiwarp" status "$IF_RCV"
# Who lacks the capability is told that.
refused no-capability 3 "raw socket: CAP_NET_RAW is missing: run as root" \
	setpriv --bounding-set=-net_raw --inh-caps=-net_raw "$BUILD/tests/net/lib/forbidden" \
	io_uring:EPERM -- "$xiwarp" sink --path direct
# Root of a user namespace has all capabilities, which count for nothing that the host owns.
own=(unshare --user --map-root-user)
if "${own[@]}" true 2>/dev/null; then
	refused userns-sink 3 "the capabilities are of a user namespace" "${own[@]}" \
		"$xiwarp" sink --path direct
	refused userns-unload 3 "the capabilities are of a user namespace" "${own[@]}" \
		"$xiwarp" unload "$IF_RCV"
else
	skip userns "no user namespaces here"
fi
in_ns rcv "$xiwarp" unload "$IF_RCV" >/dev/null || fail unload "exit code $?"
finish
