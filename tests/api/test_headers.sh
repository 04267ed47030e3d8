#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Compiles each public header alone, in C and in C++, without a warning. Links a C++ program with the library, shared
# and static, and runs it.
. "${0%/*}/../report.sh"
cd "${0%/*}/../.." || exit

BUILD=${XIW_BUILD:-build}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
warnings=(-Wall -Wextra -pedantic -Werror -Iinclude)
# A library with sanitizers must be linked by the compiler that built it, which is gcc by default.
linkers=(g++ clang++) sanitizers=()
[[ $BUILD == */san ]] && linkers=(g++) sanitizers=(-fsanitize=address,undefined)

each_alone() { # COMPILER LANGUAGE STANDARD HEADER...
	local compiler=$1 header
	for header in "${@:4}"; do
		printf '#include <xiwarp/%s>\nextern int header;\n' "${header##*/}" |
			"$compiler" -x "$2" "-std=$3" "${warnings[@]}" -fsyntax-only - || return
	done
}

for compiler in gcc clang g++ clang++; do
	if ! type "$compiler" >/dev/null 2>&1; then
		skip "$compiler" "not installed"
		continue
	fi
	case $compiler in
	*++)
		expect "$compiler-c++11" each_alone "$compiler" c++ c++11 include/xiwarp/*.h
		for standard in c++14 c++17 c++20; do
			expect "$compiler-$standard" each_alone "$compiler" c++ $standard xiwarp.h
		done
		;;
	*)
		expect "$compiler-c11" each_alone "$compiler" c c11 include/xiwarp/*.h
		;;
	esac
done

libs=(-lxdp -lbpf -luring -pthread)
for compiler in "${linkers[@]}"; do
	type "$compiler" >/dev/null 2>&1 || continue
	expect "$compiler-compiles" "$compiler" -std=c++11 "${warnings[@]}" "${sanitizers[@]}" -c \
		-o "$tmp/headers.o" tests/api/headers.cpp || continue
	expect "$compiler-links-shared" "$compiler" "${sanitizers[@]}" -o "$tmp/shared" \
		"$tmp/headers.o" -L"$BUILD" -lxiwarp -Wl,-rpath,"$(realpath "$BUILD")" &&
		expect "$compiler-runs-shared" "$tmp/shared"
	expect "$compiler-links-static" "$compiler" "${sanitizers[@]}" -o "$tmp/static" \
		"$tmp/headers.o" "$BUILD/libxiwarp.a" "${libs[@]}" &&
		expect "$compiler-runs-static" "$tmp/static"
done
finish
