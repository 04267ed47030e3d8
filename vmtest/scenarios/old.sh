# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# A kernel that is too old for the direct path, and for io_uring as engines use it. Files come by the kernel path, and
# programs of RDMA connect within the VM. Loading is refused with the reason in one line. kernels: 5.10, limit: 300,
# queues: 1
. vmtest/file.sh

# pair NAME PORT SERVER CLIENT: two programs of RDMA, each over the library.
pair() {
	local server rc
	# shellcheck disable=SC2086
	patiently 90 "$BUILD/xiwarp" run --report -- $3 >"/tmp/$1" 2>&1 &
	server=$!
	listening "$2"
	# shellcheck disable=SC2086
	expect "$1" patiently 60 "$BUILD/xiwarp" run -- $4 "$V4_GUEST"
	wait $server
	rc=$?
	cat "/tmp/$1"
	expect "$1-server" [ $rc = 0 ]
	expect "$1-epoll" grep -q 'epoll' "/tmp/$1"
}

guest() {
	local said rc
	said=$("$BUILD/xiwarp" load eth0 2>&1)
	rc=$?
	echo "$said"
	expect load-refused [ $rc = 6 ]
	expect load-says grep -q '^xiwarp: .*kernel 5\.10.*: 6\.1 or newer is needed$' <<<"$said"
	expect load-one-line [ "$(wc -l <<<"$said")" = 1 ]
	receive_files 2
	expect ring-epoll grep -q '"ring":"epoll","ring_why":"io_uring_setup: Invalid argument"' \
		"$json"
	pair rping 7174 "rping -s -C 100 -v" "rping -c -C 100 -v -a"
	pair ib_send_bw 18515 "ib_send_bw -R -n 500" "ib_send_bw -R -n 500"
	pair ib_write_lat 18515 "ib_write_lat -R -n 500" "ib_write_lat -R -n 500"
}

peer() {
	send_files 2 16
}
