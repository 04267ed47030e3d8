# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# rdma-core's rping over Linux's soft-iWARP (siw) against ours, between two namespaces: each as server and as client,
# over IPv4 and IPv6, with CRCs (only we request them) and without. Each message has 65,535 octets, the most that
# rdma-core's rping takes, validated on both sides.
# limit: 1200, siw: 1
. vmtest/siw.sh

# result NAME ROUNDS: checks our report and copies it to $RESULTS.
result() {
	cp /tmp/out "$RESULTS/$1.json"
	cat /tmp/err
	cat /tmp/out
	expect "$1-rounds" grep -q "\"iterations\": *$2[,}]" /tmp/out
	expect "$1-orderly" grep -q '"error":""' /tmp/out
}

# rounds NAME COUNT ADDRESS-OF-SIW ADDRESS-OF-OURS OPTION...
rounds() {
	local name=$1 count=$2 theirs=$3 ours=$4 server
	shift 4
	in_ours "$BUILD/xiwarp" rping -s -a "$ours" -S 65535 -V --json "$@" >/tmp/out 2>/tmp/err &
	server=$!
	listening 7174 in_ours
	expect "$name-siw-client" patiently 40 rping -c -a "$ours" -C "$count" -S 65535 -V
	ended $server || fail "$name-our-server" "exit code $?"
	result "$name-our-server" "$count"

	patiently 40 rping -s -a "$theirs" -C "$count" -S 65535 -V >/tmp/siw 2>&1 &
	server=$!
	sleep 2
	in_ours timeout 400 "$BUILD/xiwarp" rping -c -a "$theirs" -C "$count" -S 65535 -V --json \
		"$@" >/tmp/out 2>/tmp/err
	expect "$name-our-client" [ $? = 0 ]
	ended $server
	cat /tmp/siw
	result "$name-our-client" "$count"
}

# share ROLE: the direct share of all runs.
share() {
	cat "$RESULTS"/*-our-"$1".json | awk -F'[:,]' '{ for (i = 1; i < NF; i++) {
		if ($i == "\"octets_direct\"") d += $(i + 1)
		if ($i == "\"octets_kernel\"") k += $(i + 1) } }
		END { printf "%.1f %%", 100 * d / (d + k) }'
}

guest() {
	siw_up
	rounds v4-crc 1000 10.88.0.1 10.88.0.2
	rounds v6-crc 200 fd88::1 fd88::2
	rounds v4 200 10.88.0.1 10.88.0.2 --crc off
	rounds v6 200 fd88::1 fd88::2 --crc off
	in_ours "$BUILD/xiwarp" status
	# siw sends Read Responses without a copy, and the CRC of each FPDU separately, in the next segment.
	echo "SHARE $(share client) of Writes," \
		"$(share server) of Read Responses (their CRC is in a segment of its own)"
}
