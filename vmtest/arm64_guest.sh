#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What vmtest/arm64 runs in its VM: a file from one network namespace to the other, and the tests in $build whose names
# have one of $words. Prints PASS, FAIL and SKIP lines; exit code 0 if nothing has failed.
. tests/report.sh
export XIW_BUILD=$build CRITERION_JOBS=1 XIW_PATIENCE=10

ip link set lo up
modprobe veth
in_ns() { nsenter --net="/run/netns/$1" "${@:2}"; }

wire() {
	ip netns add snd && ip netns add rcv &&
		ip link add snd0 netns snd type veth peer name rcv0 netns rcv || return
	local side n=0
	for side in snd rcv; do
		in_ns $side ip link set lo up && in_ns $side ip link set ${side}0 up &&
			in_ns $side ip addr add 10.77.0.$((++n))/24 dev ${side}0 &&
			in_ns $side "$build/xiwarp" load ${side}0 || return
	done
}

file_direct() {
	mkdir /tmp/in
	head -c 20000000 /dev/urandom >/tmp/file
	in_ns rcv "$build/xiwarp" serve --once /tmp/in >/tmp/serve 2>&1 &
	until in_ns rcv ss -Htln 'sport = :15044' | grep -q .; do
		kill -0 $! || { cat /tmp/serve; return 1; }
		sleep 0.2
	done
	in_ns snd timeout 120 "$build/xiwarp" put /tmp/file 10.77.0.2 || return
	wait
	cat /tmp/serve
	cmp /tmp/file /tmp/in/file && grep -qE ' (9[5-9]|100)\.[0-9]+ % direct' /tmp/serve
}

# of_test PROGRAM: the lines of Criterion, or of a plain program.
of_test() {
	local out=/tmp/out tap=/tmp/tap
	rm -f "$tap"
	CRITERION_OUTPUTS="tap:$tap" timeout -k 5 600 "$1" >"$out" 2>&1
	local rc=$?
	if [[ -s $tap ]]; then
		sed -n -e 's/^ok - \([^ ]*\).*/PASS \1/p' \
			-e 's/^not ok - \([^ ]*\).*/FAIL \1/p' "$tap"
	else
		grep -aE '^(PASS|FAIL|SKIP) ' "$out"
	fi >/tmp/lines
	cat /tmp/lines
	if ((rc)) && ! grep -q '^FAIL' /tmp/lines; then
		echo "FAIL ${1##*/}: exit code $rc: $(tail -n 1 "$out")"
		return 1
	fi
	! grep -q '^FAIL' /tmp/lines
}

expect wire wire
expect file-direct file_direct
failed=0
for program in "$build"/tests/{unit,bpf}/test_* "$build"/tests/fuzz/fuzz_*; do
	[[ -x $program && -f $program ]] || continue
	for word in ${words:-/}; do
		[[ $program == *"$word"* ]] || continue
		of_test "$program" || failed=1
		break
	done
done
((failed == 0 && _failures == 0))
