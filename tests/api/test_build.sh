#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What a package build relies on: nothing that is built depends on the directory where it was built; fewer fronts need
# fewer libraries; tests that any user may run call no package manager; and a machine or a C library that xiwarp is not
# made for is named in one error. tests/distros does the same with everything, on other distributions: bare and twice.
# timeout: 300
. "${0%/*}/../report.sh"
cd "${0%/*}/../.." || exit
root=$PWD
BUILD=$(realpath "${XIW_BUILD:-build}")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
unset MAKEFLAGS MAKELEVEL
export CCACHE_DISABLE=1 # it would hand the first over as the second

# The BPF side with its line information, and the part of the library that contains it, as code and for LTO.
library=build/libxiwarp.so.$(sed -n 's/^VERSION := //p' Makefile)
built_in() { # DIRECTORY
	mkdir -p "$1" && cp -r Makefile bpf include user tools tests "$1/" &&
		make -C "$1" -j2 build/libxiwarp.a "$library" LAYERS='load base' \
			CFLAGS='-O1 -g -flto=auto -ffat-lto-objects' >"$tmp/log" 2>&1 ||
		{ tail -n 5 "$tmp/log"; return 1; }
}

expect first-directory built_in "$tmp/first"
expect second-directory built_in "$tmp/the/second directory of another length"
same=0
for file in libxiwarp.a "${library#*/}" bpf/xiwarp.bpf.o bpf/xiwarp.skel.h; do
	cmp "$tmp/first/build/$file" "$tmp/the/second directory of another length/build/$file" ||
		same=1
done
expect identical-in-two-directories test $same = 0

named=
for file in "$BUILD"/lib*.so "$BUILD"/lib*.a "$BUILD/xiwarp" "$BUILD/bpf/xiwarp.bpf.o"; do
	grep -qF -e "$root/" -e "$BUILD/" "$file" && named+=" ${file##*/}"
done
expect names-no-directory test -z "$named"

# commands FRONTS: all that `make all` would do, in a build directory that is empty.
commands() {
	make -n all BUILD="$tmp/none" FRONTS="$1"
}

# needs FRONTS LIBRARY...: these alone of the fronts' libraries are linked.
needs() {
	local found
	found=$(commands "$1" | grep -ow -e -libverbs -e -lrdmacm -e -lfabric | sort -u)
	[[ ${found//$'\n'/ } == "${*:2}" ]] || { echo "FRONTS='$1' links $found"; return 1; }
}

expect library-alone needs ''
expect front-verbs needs verbs # it has their functions itself
expect front-trace needs trace -libverbs -lrdmacm
expect front-fabric needs fabric -lfabric
expect fronts-all needs 'verbs trace fabric' -lfabric -libverbs -lrdmacm

asks() { # WORDS: does `make check` call tools/setup, which may install something?
	make -n check BUILD="$tmp/none" ONLY="$1" | grep -q '^tools/setup\|;tools/setup'
}

expect check-installs asks ''
expect check-installs-for-scripts asks tests/net/
expect check-leaves-users-alone eval '! asks "tests/unit/ tests/fuzz/"'

# refused WORDS COMPILER ARGUMENT...: one error, in these words.
refused() {
	local said
	said=$("${@:2}" -E user/base/machine.h 2>&1 >/dev/null) && return 1
	[[ $(grep -c 'error:' <<<"$said") == 1 && $said == *"$1"* ]] || { echo "$said"; return 1; }
}

mkdir "$tmp/musl"
echo '/* musl has no name for itself. */' >"$tmp/musl/features.h"
expect refuses-32-bit refused '64-bit machines' gcc -m32
expect refuses-big-endian refused 'little-endian machines' clang --target=s390x-linux-gnu
expect refuses-musl refused 'GNU C library' gcc -nostdinc "-I$tmp/musl"
expect takes-this-machine gcc -E user/base/machine.h -o /dev/null

# The help of a command for another machine, which is not run: here a file that could not be.
other_machine() {
	printf '#!/bin/sh\necho other-linux-gnu\n' >"$tmp/other-gcc"
	chmod +x "$tmp/other-gcc"
	version=$(sed -n 's/^VERSION := //p' Makefile)
	CC=$tmp/other-gcc HOSTCC=gcc \
		CPPFLAGS="-Iinclude -Iuser -I. -D_GNU_SOURCE -DXIW_VERSION='\"$version\"'" \
		tools/xiwarp/man /nowhere >"$tmp/man" && cmp "$tmp/man" "$BUILD/xiwarp.1"
}

expect man-page-without-running-the-command other_machine
finish
