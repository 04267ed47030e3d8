#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The shape of the tree: which folder may use which (tests/structure/layers), that files within a folder form no circle,
# and how large files, functions, structs and lines may be (tests/structure/sizes). tests/structure/known lists what is
# not so yet, one line or pattern each; a pattern that matches nothing any more has to go. Each script can be parsed.
. "${0%/*}/../report.sh"
cd "${0%/*}/../.." || exit
export LC_ALL=C

BUILD=$(realpath "${XIW_BUILD:-build}")
here=$PWD/tests/structure
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# C sources, texts and scripts, without data for fuzzers.
sources() {
	local file start
	find bpf include user tools tests vmtest -name corpus -prune -o -name regress -prune -o \
		-type f -print | sort |
		while read -r file; do
			case ${file##*/} in
			*.c | *.h | *.sh | *.md) echo "$file" ;;
			*.*) ;;
			*) read -rN 2 start <"$file" && [[ $start == '#!' ]] && echo "$file" ;;
			esac
		done
	printf '%s\n' *.md
}

# unparsed FILE...: the scripts among them in which the shell finds an error of syntax, which also those that no test
# runs must not have.
unparsed() {
	local file line
	for file; do
		read -r line <"$file"
		[[ $line == '#!/bin/bash' || $line == '#!/bin/sh' || $file == *.sh ]] || continue
		bash -n "$file" 2>/dev/null || echo "$file: an error of syntax"
	done
}

# check NAME CMD...: what CMD finds, without what is known.
check() {
	local name=$1 line pattern count=0
	shift
	"$@" >"$tmp/$name" || {
		fail "$name" "exit code $?: $1"
		return
	}
	while read -r line; do
		for pattern in "${known[@]}"; do
			# shellcheck disable=SC2053
			if [[ $line == $pattern ]]; then
				used[$pattern]=1
				continue 2
			fi
		done
		echo "$line"
		((count++))
	done <"$tmp/$name"
	if ((count)); then
		fail "$name" "$count violations, see above"
	else
		pass "$name"
	fi
}

# A tree in which each rule is broken once.
broken_tree() {
	local t=$tmp/broken n
	mkdir -p "$t"/user/{low,high} "$t"/include/xiwarp "$t"/obj/user/{low,high}
	printf 'low\nhigh\n' >"$t/layers"
	echo 'int up(void), a(void); int a(void) { return up(); }' >"$t/user/low/a.c"
	printf '%s\n' 'int up(void), b(void), c(void);' \
		'int up(void) { return c(); } int b(void) { return 1; }' >"$t/user/high/b.c"
	echo 'int b(void), c(void); int c(void) { return b(); }' >"$t/user/high/c.c"
	echo '#include "high/b.h"' | tee "$t/user/low/a.h" >"$t/user/high/c.h"
	echo '#include "high/c.h"' >"$t/user/high/b.h"
	for n in low/a high/b high/c; do
		gcc -c -o "$t/obj/user/$n.o" "$t/user/$n.c" || return
	done
	{
		printf '/* %0120d */\n' 0
		printf 'struct wide {\n'
		printf '\tint m%d, n%d;\n' {1..42}
		printf '};\nint long_one(void)\n{\n'
		printf '\t;\n%.0s' {1..60}
		printf '}\nint x = %0100d;\n' 0
		printf '\n%.0s' {1..500}
	} >"$t/large.c"
	printf '#!/bin/bash\ncase x in\na |\n\tb) ;;\nesac\n' >"$t/script"
}

arrows='user/high/c.c calls b of user/high/b.c, user/high/b.c calls c of user/high/c.c: a circle
user/high/c.h includes user/high/b.h, user/high/b.h includes user/high/c.h: a circle
user/low/a.c calls up of user/high/b.c: an arrow upward
user/low/a.h includes user/high/b.h: an arrow upward'

excess='large.c: 588 lines, 500 are allowed
large.c: long_one() has 63 lines, 60 are allowed
large.c: struct wide has 42 members at one level, 40 are allowed
large.c:1: 126 columns, 120 are allowed
large.c:88: 109 columns, 100 are allowed for code'

# names NAME WANTED CMD...: CMD finds what is wanted, and that alone.
names() {
	local name=$1 wanted=$2 found
	found=$("${@:3}" | sort)
	if [[ $found == "$wanted" ]]; then
		echo "found: ${found//$'\n'/$'\nfound: '}"
		pass "$name"
	else
		diff <(echo "$wanted") <(echo "$found")
		fail "$name" "not the expected violations"
	fi
}

expect builds-a-broken-tree broken_tree
names broken-layers "$arrows" \
	"$here/arrows" "$tmp/broken" "$tmp/broken/obj" "$tmp/broken/layers"
names broken-scripts 'script: an error of syntax' eval "cd $tmp/broken && unparsed script large.c"
names broken-sizes "$excess" eval "cd $tmp/broken && $here/sizes large.c"

declare -A used=()
mapfile -t known < <(grep -v -e '^#' -e '^$' "$here/known")
mapfile -t files < <(sources)
check layers "$here/arrows" "$PWD" "$BUILD/obj" "$here/layers"
check sizes "$here/sizes" "${files[@]}"
check scripts unparsed "${files[@]}" .ci/run

outdated=0
for pattern in "${known[@]}"; do
	[[ ${used[$pattern]-} ]] && continue
	echo "tests/structure/known: matches nothing any more: $pattern"
	((outdated++))
done
if ((outdated)); then
	fail known "$outdated lines match nothing any more"
else
	pass known
fi
finish
