# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# A real driver: native XDP and AF_XDP on virtio-net. limit: 300, queues: 1, quick: 1
. vmtest/file.sh

guest() {
	expect load "$BUILD/xiwarp" load --mode native eth0
	receive_files 2
	direct_above 50
	expect unload "$BUILD/xiwarp" unload eth0
}

peer() {
	send_files 2 16
}
