# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Sends only, against programs of rdma-core over siw. rdma_client and rdma_server send 16 octets each way, in both
# roles; ucmatose sends many times as much. limit: 900, siw: 1
#
# ucmatose's server sends first, and siw does not wait for the client's first FPDU (RFC 5044 section 7.1.2, rule 4). As
# a client, ours takes these FPDUs, even those that come with the MPA Reply. As a server, ours does wait, and
# would wait for ever, since ucmatose's client only answers; and siw as a client refuses octets behind a Reply.
#
# As a client, ours sends only after all of ucmatose's Sends have come: ucmatose has one buffer for both directions, and
# siw's CRC covers the octets that were in it before ours came.
. vmtest/siw.sh

# siw_server PROGRAM...: starts it and waits until it listens; sets pid.
siw_server() {
	local i
	timeout $((30 * XIW_PATIENCE)) "$@" >/tmp/siw-server 2>&1 &
	pid=$!
	for ((i = 0; i < 100; i++)); do
		rdma resource show cm_id 2>/dev/null | grep -q 'state LISTEN' && break
		sleep 0.1
	done
}

# our_client NAME ADDRESS OPTIONS PROGRAM...: ours as a client, PROGRAM as the server over siw.
our_client() {
	local name=$1 theirs=$2 options=$3 pid
	shift 3
	siw_server "$@"
	# shellcheck disable=SC2086
	in_ours "$BUILD/tests/net/peer/siw_end" connect "$theirs" 7471 $options \
		>"$RESULTS/$name-our-client" 2>&1
	expect "$name-our-client" [ $? = 0 ]
	ended "$pid"
	expect "$name-siw-server" [ $? = 0 ]
	siw_idle
	cat "$RESULTS/$name-our-client" /tmp/siw-server
}

# our_server NAME ADDRESS OPTIONS PROGRAM...: ours as the server, PROGRAM as a client over siw.
our_server() {
	local name=$1 ours=$2 options=$3 pid
	shift 3
	# shellcheck disable=SC2086
	in_ours "$BUILD/tests/net/peer/siw_end" listen "$ours" 7471 $options \
		>"$RESULTS/$name-our-server" 2>&1 &
	pid=$!
	listening 7471 in_ours
	patiently 30 "$@" >"$RESULTS/$name-siw-client" 2>&1
	expect "$name-siw-client" [ $? = 0 ]
	ended "$pid"
	expect "$name-our-server" [ $? = 0 ]
	cat "$RESULTS/$name-our-server" "$RESULTS/$name-siw-client"
}

# server_first NAME OPTIONS: 50 Sends of 5000 octets each way, siw's server first.
server_first() {
	local pid out=$RESULTS/$1-our-client
	siw_server ucmatose -C 50 -S 5000
	# shellcheck disable=SC2086
	in_ours "$BUILD/tests/net/peer/siw_end" connect 10.88.0.1 7471 sends=50 len=5000 \
		reply=1 $2 >"$out" 2>&1
	expect "$1" grep -q 'status=0 .* mpa=0 .* sends=50/50 ' "$out"
	cat "$out"
	# ucmatose may not notice that a connection failed early.
	kill "$pid" 2>/dev/null
	wait "$pid"
	siw_idle
}

# Waits until nobody listens over siw any more.
siw_idle() {
	local i
	for ((i = 0; i < 100; i++)); do
		rdma resource show cm_id 2>/dev/null | grep -q 'state LISTEN' || return
		sleep 0.1
	done
	fail siw-idle "$(rdma resource show cm_id)"
}

guest() {
	siw_up
	our_server one-v4 10.88.0.2 'sends=1 len=16' rdma_client -s 10.88.0.2
	our_server one-v6 fd88::2 'sends=1 len=16' rdma_client -s fd88::2
	our_server one-no-crc 10.88.0.2 'sends=1 len=16 crc=off' rdma_client -s 10.88.0.2
	our_client one-v4 10.88.0.1 'sends=1 len=16' rdma_server
	our_client one-v6 fd88::1 'sends=1 len=16' rdma_server -s fd88::1
	our_client one-no-crc 10.88.0.1 'sends=1 len=16 crc=off' rdma_server
	server_first many ''
	server_first many-no-crc crc=off
	cat "$RESULTS"/*-our-* |
		sed -n 's/.*octets_direct=\([0-9]*\) octets_kernel=\([0-9]*\).*/\1 \2/p' |
		awk '{ d += $1; k += $2 } END { printf "SHARE %.1f %%\n", 100 * d / (d + k) }'
}
