# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Sourced by the tests whose programs were built elsewhere, and load our libraries.
#
#   "${foreign[@]}" CMD...   starts such a program
#   $foreign_why             why none can be started; empty: they can
#
# Where AddressSanitizer watches our libraries, its runtime is to be the first in such a program, whose leaks are not
# ours. A runtime that is no library of its own, as clang's by default, cannot be.
foreign=() foreign_why=
if nm -D "$BUILD/libxiw-verbs.so" 2>/dev/null | grep -q __asan_init; then
	_asan=$(ldd "$BUILD/libxiw-verbs.so" | awk '/libasan/ { print $3 }')
	foreign=(env "LD_PRELOAD=$_asan"
		"ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0:detect_leaks=0")
	[[ $_asan ]] || foreign_why="the sanitizers' runtime is no library to preload"
fi
