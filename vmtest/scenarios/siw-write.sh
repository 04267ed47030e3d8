# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# siw's RDMA Writes into `xiwarp sink`, which knows DDP but not RDMAP. The octets are compared, with CRCs and without,
# for two kinds of Writes: with a completion (siw copies the octets) and without (siw sends pages without a copy, and
# each FPDU's CRC in a segment of its own). limit: 900, siw: 1
. vmtest/siw.sh

# writes NAME ADDRESS CRC SIGNALLED CHUNK
writes() {
	local name=$1 sink
	rm -f /tmp/written
	in_ours "$BUILD/xiwarp" sink --stag 0x1234 --size 32M --crc "$3" --once --json \
		--out /tmp/written >"$RESULTS/$name.json" 2>"$RESULTS/$name.log" &
	sink=$!
	listening 15044 in_ours
	patiently 60 "$BUILD/tests/siw/siw_peer" connect "$2" 15044 stag=0x1234 to=0 \
		file=/tmp/random chunk="$5" signalled="$4" >"$RESULTS/$name-siw"
	expect "$name-siw" [ $? = 0 ]
	cat "$RESULTS/$name-siw"
	ended "$sink"
	expect "$name-our-sink" [ $? = 0 ]
	cat "$RESULTS/$name.log" "$RESULTS/$name.json"
	expect "$name-octets" cmp /tmp/random /tmp/written
	expect "$name-no-crc-errors" grep -q '"crc_errors":0,' "$RESULTS/$name.json"
	expect "$name-crc-$3" grep -q "\"crc\":$([[ $3 == on ]] && echo true || echo false)" \
		"$RESULTS/$name.json"
}

share() { # NAME
	sed 's/.*"direct_share":\([0-9.]*\).*/\1/' "$RESULTS/$1.json" |
		awk '{ printf "%.1f %%", 100 * $1 }'
}

guest() {
	# Memory that siw pins counts against this limit, with Linux 6.1 even for root.
	ulimit -l unlimited
	siw_up
	head -c 16000001 /dev/urandom >/tmp/random
	writes copied 10.88.0.2 on 1 65536
	writes copied-no-crc 10.88.0.2 off 1 65536
	writes copied-small 10.88.0.2 on 1 1000
	writes copied-v6 fd88::2 on 1 65536
	# Shows how siw cuts the segments of such Writes.
	tcpdump -i sw0 -s 120 -U -c 400 -w "$RESULTS/pages.pcap" tcp 2>/dev/null &
	writes pages 10.88.0.2 on 0 65536
	writes pages-no-crc 10.88.0.2 off 0 65536
	in_ours "$BUILD/xiwarp" status
	echo "SHARE $(share copied) with completions, $(share copied-no-crc) without CRCs;" \
		"without completions $(share pages), $(share pages-no-crc)"
}
