#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Which ring an engine has, and who says so: io_uring, or epoll where one of io_uring's calls is refused, or what
# XIWARP_RING says. With either, files arrive and programs run; what insists on io_uring is told the truth.
. "${0%/*}/../lib/lib.sh"

xiwarp=$BUILD/xiwarp port=15064
unset XIWARP_RING # of the whole run of tests
forbidden() { echo "$BUILD/tests/net/lib/forbidden" "$@" --; }

# A filter of this whole run of tests may forbid io_uring.
outer=
grep -q '^Seccomp:.*2' /proc/self/status && outer=1

# has NAME WHY COMMAND...: COMMAND status says epoll, and why.
has() {
	local name=$1 why=$2
	shift 2
	in_ns rcv "$@" "$xiwarp" status --json "$IF_RCV" >"$TMP/json" 2>&1
	expect "$name" [ "$(field ring "$TMP/json")/$(field ring_why "$TMP/json")" = "epoll/$why" ]
}

wire_up plain
in_ns rcv "$xiwarp" load "$IF_RCV" >/dev/null || fail load "exit code $?"
usual=io_uring
[[ $outer ]] && usual=epoll
expect here [ "$(ring)" = $usual ]
expect empty-says-nothing [ "$(XIWARP_RING='' ring)" = $usual ]
has chosen "XIWARP_RING says so" env XIWARP_RING=epoll
if [[ ! $outer ]]; then
	for error in "EPERM Operation not permitted" "EACCES Permission denied" \
		"ENOSYS Function not implemented"; do
		for call in setup register enter; do
			# shellcheck disable=SC2046
			has "$call-${error%% *}" "io_uring_$call: ${error#* }" \
				$(forbidden "io_uring_$call:${error%% *}")
		done
	done
	# shellcheck disable=SC2046
	has old-kernel "io_uring_setup: Invalid argument" $(forbidden io_uring_setup:EINVAL)
fi
# shellcheck disable=SC2046
in_ns rcv $(forbidden io_uring:EPERM) "$xiwarp" status >"$TMP/words" 2>&1
expect words grep -q '^ring: epoll (io_uring_setup: ' "$TMP/words"

# ---- what insists, and what is no lack of io_uring
for e in 'EPERM 3 kernel.io_uring_disabled=0, and have' 'EACCES 3 kernel.io_uring_disabled=0' \
	'ENOSYS 6 kernel.io_uring_disabled=0' 'EINVAL 6 from Linux 6.1 on'; do
	read -r error code why <<<"$e"
	# shellcheck disable=SC2046
	refused "insists-$error" "$code" "$why" env XIWARP_RING=io_uring \
		$(forbidden "io_uring_setup:$error") "$xiwarp" sink --path kernel
done
refused unknown 2 "XIWARP_RING: 'poll' is not io_uring or epoll" env XIWARP_RING=poll "$xiwarp" sink
# shellcheck disable=SC2046
[[ $outer ]] || has no-memory "io_uring_setup: Cannot allocate memory" \
	$(forbidden io_uring_setup:ENOMEM)
# shellcheck disable=SC2046
refused insists-ENOMEM 1 "cannot start the engine: Cannot allocate memory" \
	env XIWARP_RING=io_uring $(forbidden io_uring_setup:ENOMEM) "$xiwarp" sink --path kernel

# ---- files, by either path
mkdir -p "$TMP/in"
random_file "$TMP/file" 4
# transfer NAME PATH FILTER...: serve and put, both under the filter, which put's report names.
transfer() {
	local name=$1 path=$2 server rc
	shift 2
	((port++))
	# shellcheck disable=SC2046
	spawn server rcv serve $(forbidden "$@") "$xiwarp" serve --path "$path" --listen ":$port" \
		--force "$TMP/in"
	wait_listen rcv $port || fail "$name-listens" "$(cat "$TMP/serve")"
	# shellcheck disable=SC2046
	in_ns snd timeout 60 $(forbidden "$@") "$xiwarp" put --json "$TMP/file" "$V4_RCV:$port" \
		>"$TMP/json" 2>"$TMP/err"
	rc=$?
	if ((rc)) || ! cmp "$TMP/file" "$TMP/in/file"; then
		fail "$name" "exit code $rc: $(cat "$TMP/err" "$TMP/serve")"
	else
		expect "$name" [ "$(field ring "$TMP/json")" = epoll ]
	fi
	rm -f "$TMP/in/file"
	stop "$server" INT
}
for call in io_uring io_uring_setup io_uring_register io_uring_enter; do
	transfer "file-$call" kernel $call:EPERM epoll_pwait2:ENOSYS
done
transfer file-ENOSYS auto io_uring:ENOSYS epoll_pwait2:EPERM

# ---- programs
if [[ $(type -P rping) ]]; then
	# shellcheck disable=SC2046
	spawn server rcv server $(forbidden io_uring:EPERM) \
		"$xiwarp" run --report --if "$IF_RCV" -- \
		rping -s -a $V4_RCV -p 7180 -C 3
	wait_listen rcv 7180 || fail rping-listens "$(cat "$TMP/server")"
	# shellcheck disable=SC2046
	in_ns snd timeout 60 $(forbidden io_uring:ENOSYS) \
		"$xiwarp" run --report --if "$IF_SND" -- \
		rping -c -a $V4_RCV -p 7180 -C 3 >"$TMP/client" 2>&1
	expect rping test $? -eq 0
	reap "$server" 20
	expect rping-server-says grep -q '; ring epoll (io_uring_setup: Operation not permitted)$' \
		"$TMP/server"
	expect rping-client-says grep -q '; ring epoll (io_uring_setup: ' "$TMP/client"
else
	fail rping "there is no rping"
fi
in_ns rcv "$xiwarp" unload "$IF_RCV" >/dev/null || fail unload "exit code $?"
finish
