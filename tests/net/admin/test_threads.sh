#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 300
#
# sink, serve, rping and the example with several threads on an interface with four receive queues: connections spread
# over them, all octets arrive, and the report at the end adds up.
. "${0%/*}/../lib/lib.sh"

xiwarp=$BUILD/xiwarp tests=$BUILD/tests/net report=$TMP/json
CONNS=12 OCTETS=$((2 << 20))

wire_up plain 1500 4 || exit 1
wire_clamp 65536
set_sysctl snd net.core.txrehash 0
load_patient rcv || exit 1

# receiver COMMAND...: the command in the background, its report in $report. It says where it listens when all is open.
receiver() {
	rm -f "$TMP/log"
	spawn RECV rcv log sh -c 'exec "$0" "$@" >"$REPORT"' "$xiwarp" "$@"
	wait_until 20 grep -qs "^xiwarp: .* on .*:[1-9]" "$TMP/log"
}

# clients COMMAND...: so many at once; {} is the number, {@} a place for each. All must succeed.
clients() {
	local pids=() words pid i code=0
	for ((i = 0; i < CONNS; i++)); do
		words=("${@//\{@\}/$((i * OCTETS))}")
		spawn pid snd "client$i" "${words[@]//\{\}/$i}"
		pids+=("$pid")
	done
	for pid in "${pids[@]}"; do
		reap "$pid" 60 || code=1
	done
	((code)) && cat "$TMP"/client*
	return "$code"
}

# ended THREADS LEAST: the receiver ends; its last line has so many threads, which add up, and at least so many octets.
ended() {
	stop "$RECV"
	local rc=$?
	if ((rc != 143)); then
		echo "exit code $rc: $(grep -m 1 -A 12 WARNING "$TMP/log")"
		return 1
	fi
	python3 - "$report" "$1" "$2" "$CONNS" <<-'EOF'
		import json, sys
		lines = [json.loads(line) for line in open(sys.argv[1])]
		threads, least, conns = map(int, sys.argv[2:5])
		total = lines[-1]
		parts = total["threads"]
		assert len(parts) == threads, total
		for key in "connections", "octets_direct", "octets_kernel":
		    assert sum(part[key] for part in parts) == total[key], total
		assert total["connections"] == conns, total
		assert total["octets_direct"] + total["octets_kernel"] >= least, total
		assert sum(part["connections"] > 0 for part in parts) > 1, total
		assert total["direct_share"] > 0.9, total
	EOF
}

export REPORT=$report
sink() { # THREADS OPTION...
	receiver sink --json --stag 0x1234 "${@:2}" &&
		clients "$tests/lib/sendto" -b '{@}' -t "$OCTETS" "$V4_RCV" 15044 &&
		ended "$1" $((CONNS * OCTETS))
}

serve() {
	mkdir "$TMP/in"
	random_file "$TMP/file" 2
	for ((i = 0; i < CONNS; i++)); do ln "$TMP/file" "$TMP/file$i"; done
	receiver serve --json --threads 4 "$TMP/in" &&
		clients "$xiwarp" put "$TMP/file{}" "$V4_RCV" &&
		ended 4 $((CONNS * OCTETS)) || return
	for ((i = 0; i < CONNS; i++)); do
		cmp "$TMP/file" "$TMP/in/file$i" || return
	done
}

# The files' modes are those of the sender, without what the umask takes away, whatever threads make them at a time.
modes() {
	mkdir "$TMP/many" "$TMP/modes"
	umask 022
	for ((i = 0; i < 300; i++)); do echo "$i" >"$TMP/many/$i"; done
	chmod 777 "$TMP"/many/*
	receiver serve --json --threads 4 "$TMP/modes" &&
		in_ns snd timeout 60 "$xiwarp" put --connections 8 "$TMP"/many/* "$V4_RCV" \
			>"$TMP/put" &&
		grep -q '^Umask:.0022' "/proc/$RECV/status" || return
	stop "$RECV"
	[[ $(stat -c %a "$TMP"/modes/* | sort | uniq -c | tr -s ' ') == " 300 755" ]]
}

# `ip address add ... label` gives an address a name that is no interface's.
labelled() {
	in_ns rcv ip addr add 10.77.0.12/24 dev "$IF_RCV" label "$IF_RCV:1" || return
	receiver sink --json --stag 0x1234 --threads 4 &&
		clients "$tests/lib/sendto" -b '{@}' -t "$OCTETS" 10.77.0.12 15044 &&
		ended 4 $((CONNS * OCTETS))
}

rping() {
	receiver rping -s -P --json --threads 4 -S 64K -V &&
		clients "$xiwarp" rping -c -a "$V4_RCV" -C 20 -S 64K -V &&
		ended 4 $((CONNS * 20 * 65536))
}

# The example prints a line for each connection.
example() {
	spawn RECV rcv example "$BUILD/example_threads" 15044
	wait_until 20 grep -q "^[1-9][0-9]* threads" "$TMP/example" &&
		clients "$tests/lib/sendto" -b '{@}' -t "$OCTETS" "$V4_RCV" 15044 &&
		stop "$RECV" && awk -v n=$CONNS -v all=$((CONNS * OCTETS)) -v threads=$cpus '
			/^closed/ { c++; direct += $2; kernel += $6 }
			/threads/ { t = $1 }
			END {
				print c, direct, kernel, t
				exit c != n || direct + kernel < all || direct < all * 0.9 ||
					t != (threads < 4 ? threads : 4)
			}' "$TMP/example"
}

# The second thread serves no queue of the interface. Its connections go to the first one.
one_queue() {
	local rc
	receiver sink --json --stag 0x1234 --threads 2 --path direct &&
		clients "$tests/lib/sendto" -b '{@}' -t "$OCTETS" "$V4_RCV" 15044 || return
	stop "$RECV"
	rc=$?
	tail -n 1 "$report"
	((rc == 143)) && python3 - "$report" "$CONNS" <<-'EOF'
		import json, sys
		total = [json.loads(line) for line in open(sys.argv[1])][-1]
		assert [part["connections"] for part in total["threads"]] == [int(sys.argv[2]), 0]
		assert total["direct_share"] > 0.9
	EOF
}

cpus=$(nproc)
expect sink sink 4 --threads 4
expect sink-default sink $((cpus < 4 ? cpus : 4))
expect serve serve
expect serve-modes modes
expect labelled-address labelled
expect rping rping
expect example example
in_ns rcv "$xiwarp" unload "$IF_RCV" --force >/dev/null

wire_up plain 1500 1 || exit 1
wire_clamp 65536
load_patient rcv || exit 1
expect one-queue one_queue
# A second process gets no queue, and its second thread does not hide that.
receiver sink --json --threads 1 --listen "$V4_RCV:15045"
refused no-queue 5 "busy" "$xiwarp" sink --path direct --threads 2 --listen "$V4_RCV:15046"
stop "$RECV"
in_ns rcv "$xiwarp" unload "$IF_RCV" --force >/dev/null
finish
