# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Four queue pairs, and 64 connections to several engines: in one process, and in two, of which one is killed. The wire
# steers by the peer's port, as a NIC does by its filters or its hash; what tap does by itself, no NIC does: it moves a
# connection to the queue by which the VM last sent a packet of it. limit: 900, queues: 4, cpus: 4
. vmtest/file.sh

RECV=$BUILD/tests/net/faults/trouble SEND=$BUILD/tests/net/faults/trouble_send
STATES=/tmp/states # one line of JSON for each connection; in memory, since no engine must wait for a file
RATE=0.02          # MiB/s of each connection, which emulated CPUs can bear
FIRST=20972        # octets of the first second, in which an emulated engine may still be about to begin

await() { # SECONDS CMD...
	local end=$((SECONDS + $1 * XIW_PATIENCE))
	until "${@:2}"; do
		((SECONDS < end)) || return 1
		sleep 1
	done
}

# engines NAME QUEUE...: a process with an engine for each of these queues, on port 15046 + QUEUE. Its pid: `process`.
engines() {
	local i args=() log=$RESULTS/$1.log
	for i in "${@:2}"; do
		args+=(-E "$((1 << i)),$((15046 + i)),$STATES/$i")
	done
	"$RECV" "${args[@]}" >"$log" 2>&1 &
	process=$!
	await 10 grep -q "^ready" "$log"
	for i in "${@:2}"; do
		expect "$1-queue-$i" \
			await 10 grep -q "^engine $((15046 + i)) serves 0x$((1 << i)) *$" "$log"
		listening $((15046 + i))
	done
}

# count CONDITION: of how many connections is the awk condition true? It may use their numbers and texts.
count() {
	cat "$STATES"/[0-3] 2>/dev/null | awk -v mib="$(<"$RESULTS/mib")" '
		function number(name) {
			if (!match($0, "\"" name "\":[0-9]+"))
				return 0
			return substr($0, RSTART + length(name) + 3) + 0
		}
		{
			queue = number("id") % 4; octets = number("octets")
			direct = number("octets_direct"); kernel = number("octets_kernel")
			n += '"$1"'
		}
		END { print n + 0 }'
}
are() { (($(count "$2") == $1)); } # NUMBER CONDITION

at_least() { (($(count "$2") >= $1)); }

# become SECONDS NUMBER CONDITION: so many at once, or more.
become() {
	await "$1" at_least "$2" "$3" || {
		cat "$STATES"/[0-3]
		return 1
	}
}

OPEN='/"state":"open"/'
DIRECT="$OPEN"' && /"path":"direct"/ && direct > 65536'
ELSEWHERE="$OPEN"' && /"queue of another engine":/ && !/"path":"direct"/'
COMPLETE='/"state":"closed"/ && /"status":0,/ && octets == mib * 1048576'
LATE='/"watchdog"|lost before AF_XDP"|acknowledgements not heard"|over lo do not arrive/'
STEERED='(/"queue of another engine"/ || /"no AF_XDP socket"/)'

# complete NAME NUMBER: so many connections have ended well, with every octet that was to be sent.
complete() {
	expect "$1-complete" become 6 "$2" "$COMPLETE"
	cat "$STATES"/[0-3] >"$RESULTS/$1.states"
}

# steady NAME NUMBER: and all were on their engine's queue from beginning to end, behind the first second at least 99 %
# direct. Only one whose engine or whose segments were late may have fallen short, as happens on an emulated machine.
steady() {
	local direct all
	complete "$@"
	direct=$(count direct) all=$(count 'direct + kernel')
	echo "SHARE $(awk "BEGIN { printf \"%.1f\", 100 * $direct / ($all + 1) }") % ($1)"
	expect "$1-never-steered" are 0 "$STEERED"
	expect "$1-direct" are "$2" \
		"$COMPLETE"' && ('"$LATE"' || (kernel - '"$FIRST"') * 100 <= direct + kernel)'
	expect "$1-above-50" [ $((direct * 2)) -gt "$all" ]
}

# over PID: the process ends without a wrong octet.
over() {
	kill -TERM "$1"
	wait "$1"
	expect octets [ $? = 0 ]
}

# round NAME: lets the peer start its connections.
round() {
	rm -f "$STATES"/*
	say "$1"
}

# ask WORD: lets the peer do it, and waits until it is done.
ask() {
	say "$1"
	meet "$1-done" 60
}

guest() {
	local first second i
	mkdir $STATES
	ethtool -L eth0 combined 4
	expect load "$BUILD/xiwarp" load --mode native eth0
	# A thread for each queue, and one listener: each connection is on the engine of its queue.
	receive_files 2 --path direct
	expect group-never-steered [ "$(grep -c "queue of another engine" "$json")" = 0 ]
	direct_above 50

	engines one 0 1 2 3
	round steady
	meet steady-sent 240
	steady steady 64
	# Half of them come on other queues for a time. Nothing is lost.
	# The watchdog has some of them on the kernel path at any time.
	round resteered
	expect resteered-direct become 9 48 "$DIRECT"
	for i in 1 2; do
		ask "move-$i"
		expect resteered-others become 6 32 "queue < 2 && $ELSEWHERE"
		expect resteered-stay are 0 "queue >= 2 && $STEERED"
		ask "back-$i"
		expect resteered-again become 6 48 "$DIRECT"
	done
	meet resteered-sent 240
	complete resteered 64
	over "$process"

	engines first 0 1
	first=$process
	engines second 2 3
	second=$process
	round two
	meet two-sent 240
	steady two 64
	round killed
	expect killed-direct become 9 48 "$DIRECT"
	kill -KILL "$second"
	rm "$STATES"/[23]
	meet killed-sent 240
	steady killed 32
	over "$first"
	expect unload "$BUILD/xiwarp" unload eth0
}

# With steer 1 2 3 0, connection 5 comes on queue 2.
steer() {
	"$BUILD/tests/net/lib/tap_steer" "$BUILD/tests/net/lib/tap_steer.bpf.o" "$IF_PEER" "$@" "$@"
}

# start NAME MIB: 64 connections at once; connection ID to the engine of queue ID % 4. They come one after the other: an
# emulated engine that begins 16 at once does not run for longer than the watchdog allows.
start() {
	local id
	pids=()
	meet "$1" 300
	echo "$2" >"$RESULTS/mib"
	for ((id = 0; id < 64; id++)); do
		"$SEND" -n $id -p $((port + id)) -P $((15046 + id % 4)) -b "$2" -r $RATE \
			"$V4_GUEST" &
		pids+=($!)
		sleep 0.2
	done
	((port += 64))
}

# sent NAME FAILED: waits until they have ended, so many with an error.
sent() {
	local pid failed=0
	for pid in "${pids[@]}"; do
		wait "$pid" || ((failed++))
	done
	say "$1-sent"
	expect "$1-senders" [ $failed = "$2" ]
}

peer() {
	local port=40000 i pids
	meet serving 120
	expect steering steer 0 1 2 3
	send_files 2 1
	start steady 1
	sent steady 0
	start resteered 2
	for i in 1 2; do
		meet "move-$i" 120
		steer 2 3 2 3
		say "move-$i-done"
		meet "back-$i" 120
		steer 0 1 2 3
		say "back-$i-done"
	done
	sent resteered 0
	start two 1
	sent two 0
	start killed 1
	sent killed 32
}
