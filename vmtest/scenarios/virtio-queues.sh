# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Two queue pairs with one AF_XDP socket each. The NIC chooses each connection's queue. limit: 300, queues: 2
. vmtest/file.sh

guest() {
	ethtool -L eth0 combined 2
	expect load "$BUILD/xiwarp" load --mode native eth0
	receive_files 4 --path direct
	direct_above 50
	expect unload "$BUILD/xiwarp" unload eth0
}

peer() {
	send_files 4 8
}
