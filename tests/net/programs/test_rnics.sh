#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# A host that also has an RNIC: what a program says of an identifier before its address is known gets to where that
# belongs, and signals come to a thread that waits for the events of both. sysfs shows a device that is not there, and
# rnic_fake.c stands for its librdmacm.
. "${0%/*}/../lib/lib.sh"

# The preloaded library is before the sanitizer's.
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0

cc=${CC:-cc}
here=${0%/*}
"$cc" -Wall -Wextra -shared -fPIC -o "$TMP/fake.so" "$here/rnic_fake.c" || exit 1
for program in options signal; do
	"$cc" -Wall -Wextra -D_GNU_SOURCE -I"$ROOT" -o "$TMP/$program" "$here/rnic_$program.c" \
		-lrdmacm -lpthread || exit 1
done

# In a mount namespace of its own, since nothing can be made in sysfs.
# shellcheck disable=SC2016
as_if='mkdir "$1" && mount --rbind /sys/class/net "$1" && mount -t tmpfs none /sys/class &&
	mkdir -p /sys/class/infiniband/fake0 /sys/class/net && mount --rbind "$1" /sys/class/net &&
	shift && exec "$@"'

# gives NAME WORDS PROGRAM...: what the program prints and what gets to the RNIC's library, in this order.
gives() {
	local got rc
	got=$(in_ns rcv timeout 60 unshare --mount sh -c "$as_if" sh "$TMP/net-$1" \
		env LD_PRELOAD="$TMP/fake.so" RNIC_REFUSES="${refuses:--1}" \
		"$BUILD/xiwarp" run --if "$IF_RCV" -- "$TMP/$3" "${@:4}" 2>&1)
	rc=$?
	if ((rc == 0)) && [[ $got == "$2" ]]; then
		pass "$1"
	else
		fail "$1" "exit code $rc: $got"
	fi
}

wire_up plain || exit 1
options="create
option 0/0: 40
option 0/2: 1 0 0 0
option 0/3: 14"
gives bind "$options
bind
done
option 0/1: 0 0 0 0
destroy" options bind 203.0.113.9
gives resolve "$options
resolve
done
option 0/1: 0 0 0 0
destroy" options resolve 127.0.0.1
refuses=3 gives refused "$options
destroy
Operation not permitted" options bind 203.0.113.9
gives ours "done" options bind "$V4_RCV"
gives signal "without SA_RESTART: Interrupted system call
with SA_RESTART: Success" signal "$V4_RCV"
finish
