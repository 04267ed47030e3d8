# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# AF_XDP without a copy: the socket's XDP_OPTIONS report it, and 64 MiB are received. virtio-net has had the receiving
# half since Linux 6.11, but announces it (NETDEV_XDP_ACT_XSK_ZEROCOPY) only since it has both halves.
# limit: 400, queues: 1, kernels: newest
. vmtest/file.sh

guest() {
	expect load "$BUILD/xiwarp" load --mode native eth0
	receive_files 2 --path direct
	direct_above 50
	expect zero-copy [ "$(grep -c '"zero_copy":true' "$json")" = 2 ]
	expect frames-of-a-page grep -qx $(((8192 + 256) * 4)) <<<"$areas"
	expect unload "$BUILD/xiwarp" unload eth0
}

peer() {
	send_files 2 32
}
