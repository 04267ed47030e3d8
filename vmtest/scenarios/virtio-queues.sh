# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Two queue pairs: one AF_XDP socket each, connections on whichever queue the NIC chooses. limit: 300, queues: 2
. vmtest/file.sh

guest() {
	ethtool -L eth0 combined 2
	expect load "$BUILD/xiwarp" load --mode native eth0
	receive_files 4 --path direct
	mostly_direct
	expect unload "$BUILD/xiwarp" unload eth0
}

peer() {
	send_files 4 8
}
