# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Four queue pairs and several engines. The NIC chooses each connection's queue, and tap moves a connection to the queue
# by which the guest last sent a packet of it: so connections change their queues all the time, and the direct share
# says only how often the scheduler moved a sender. limit: 400, queues: 4, cpus: 4
. vmtest/file.sh

RECV=$BUILD/tests/net/faults/trouble SEND=$BUILD/tests/net/faults/trouble_send
CONNECTIONS=8

# Each line of JSON is a connection: it ended well, and was direct unless its queue is another engine's.
connections() {
	local state wrong=0
	cat "$RESULTS"/engine-*.state
	expect all-closed \
		[ "$(cat "$RESULTS"/engine-*.state | grep -c '"state":"closed"')" = $CONNECTIONS ]
	while read -r state; do
		[[ $state == *"\"octets\":$((4 << 20)),"*'"status":0,'* ]] || wrong=1
		[[ $state != *'"octets_direct":0,'* || $state == *"another engine serves"* ]] ||
			wrong=1
	done <<<"$(cat "$RESULTS"/engine-*.state)"
	expect every-connection [ $wrong = 0 ]
}

guest() {
	local i ends=() engines
	ethtool -L eth0 combined 4
	expect load "$BUILD/xiwarp" load --mode native eth0
	# A thread for each queue, and one listener: each connection is on the engine of its queue.
	receive_files 8 --path direct
	direct_above 0
	# Four engines with one queue and one listener each: connections on others' queues take the kernel path.
	for i in 0 1 2 3; do
		ends+=(-E "$((1 << i)),$((15046 + i)),$RESULTS/engine-$i.state")
	done
	"$RECV" "${ends[@]}" >"$RESULTS/engines.log" 2>&1 &
	engines=$!
	for i in 0 1 2 3; do
		listening $((15046 + i))
	done
	"$BUILD/xiwarp" status
	expect four-engines \
		[ "$(grep -c '^engine [0-9]* serves 0x[1248] *$' "$RESULTS/engines.log")" = 4 ]
	say engines
	meet sent 240
	sleep 2
	kill -TERM $engines
	wait $engines
	expect octets [ $? = 0 ]
	connections
	expect unload "$BUILD/xiwarp" unload eth0
}

peer() {
	local i pids=() failed=0
	send_files 8 8
	meet engines 120
	for ((i = 1; i <= CONNECTIONS; i++)); do
		patiently 120 "$SEND" -n $i -P $((15046 + i % 4)) -b 4 -r 2 "$V4_GUEST" &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i" || failed=1
	done
	say sent $failed
	expect senders [ $failed = 0 ]
}
