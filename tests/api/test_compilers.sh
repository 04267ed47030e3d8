#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Every source is C for both compilers, gcc and clang: the one that has not built it looks at all of them.
# timeout: 900
. "${0%/*}/../report.sh"
cd "${0%/*}/../.." || exit
BUILD=$(realpath "${XIW_BUILD:-build}")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
unset MAKEFLAGS MAKELEVEL

other=clang
[[ $(<"$BUILD/flags.stamp") != *clang* ]] || other=gcc

expect "both-compilers ($other)" make -k -j2 sources CC="$other" CFLAGS=-fsyntax-only BUILD="$tmp"
finish
