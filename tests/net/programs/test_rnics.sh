#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# A host that also has an RNIC: what a program says of an identifier before its address is known gets to where that
# belongs. sysfs shows a device that is not there, and rnic_fake.c stands for its librdmacm.
. "${0%/*}/../lib/lib.sh"

# The preloaded library is before the sanitizer's.
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0

cc=${CC:-cc}
here=${0%/*}
"$cc" -Wall -Wextra -shared -fPIC -o "$TMP/fake.so" "$here/rnic_fake.c" &&
	"$cc" -Wall -Wextra -o "$TMP/options" "$here/rnic_options.c" -lrdmacm || exit 1

# In a mount namespace of its own, since nothing can be made in sysfs.
# shellcheck disable=SC2016
as_if='mkdir "$1" && mount --rbind /sys/class/net "$1" && mount -t tmpfs none /sys/class &&
	mkdir -p /sys/class/infiniband/fake0 /sys/class/net && mount --rbind "$1" /sys/class/net &&
	shift && exec "$@"'

# calls NAME WORDS HOW ADDRESS [VAR=VALUE]: what the program prints and what gets to the RNIC's library, in this order.
calls() {
	local got
	got=$(in_ns rcv unshare --mount sh -c "$as_if" sh "$TMP/net-$1" \
		env LD_PRELOAD="$TMP/fake.so" "${@:5}" \
		"$BUILD/xiwarp" run --if "$IF_RCV" -- "$TMP/options" "$3" "$4" 2>&1)
	local rc=$?
	if ((rc == 0)) && [[ $got == "$2" ]]; then
		pass "$1"
	else
		fail "$1" "exit code $rc: $got"
	fi
}

wire_up plain || exit 1
options="create
option 0/2: 1 0 0 0
option 0/3: 14"
calls bind "$options
bind
done
option 0/1: 0 0 0 0
destroy" bind 203.0.113.9
calls resolve "$options
resolve
done
option 0/1: 0 0 0 0
destroy" resolve 127.0.0.1
calls refused "$options
destroy
Operation not permitted" bind 203.0.113.9 RNIC_REFUSES=3
calls ours "done" bind "$V4_RCV"
finish
