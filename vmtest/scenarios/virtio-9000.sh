# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# MTU 9000: a packet takes several frames, which virtio-net's XDP supports since Linux 6.3. Before that, native XDP is
# refused in one line, and generic XDP remains. AF_XDP takes such packets since 6.6; before that, the kernel path
# remains. Large packets come before the programs are loaded, as on any host that is up: buffers posted at that time
# have no room for XDP, and packets in them could be lost. limit: 300, queues: 1, mtu: 9000
. vmtest/file.sh

traffic_before() {
	local server
	"$BUILD/xiwarp" serve --once --path kernel --create /tmp/before &
	server=$!
	listening 15044
	say before
	meet before-put 240
	wait $server
	expect traffic-before [ $? = 0 ]
}

guest() {
	local out rc rc_native
	traffic_before
	out=$("$BUILD/xiwarp" load --mode native eth0 2>&1)
	rc_native=$?
	echo "$out"
	if ((rc_native)); then
		expect native-refused [ "$rc_native" = 6 ]
		expect native-refused-in-a-line [ "$(wc -l <<<"$out")" = 1 ]
		out=$("$BUILD/xiwarp" load eth0 2>&1)
		rc=$?
		echo "$out"
		expect auto-falls-back [ "$rc" = 0 ]
		expect auto-says-so grep -q generic <<<"$out"
	fi
	receive_files 2
	if ((rc_native)); then
		expect kernel-path-says-why grep -q 'above 1500 needs Linux 6.6' "$json"
		echo 'SHARE 0.0 %'
	else
		direct_above 50
	fi
	expect unload "$BUILD/xiwarp" unload eth0
}

peer() {
	meet before 120
	head -c $((16 << 20)) /dev/urandom >"$RESULTS/file-before"
	patiently 120 "$BUILD/xiwarp" put "$RESULTS/file-before" "$V4_GUEST"
	say before-put $?
	rm "$RESULTS/file-before"
	send_files 2 16
}
