#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Immediate Data and atomic operations (RFC 7306): a peer written from the RFCs alone (extended.c) against an
# application on the library (rdmap_end.c), with each message and each error with its Terminate, on both paths.
# timeout: 120
. "${0%/*}/../lib/lib.sh"

wire_up plain
# With small buffers, an answer that is not read soon waits in the library instead of in sockets.
set_sysctl rcv net.ipv4.tcp_wmem "4096 16384 65536"
for path in kernel direct; do
	[[ $path == kernel ]] || load_patient rcv || fail load "exit code $?"
	cases extended rdmap_end $path
done
in_ns rcv "$BUILD/xiwarp" unload "$IF_RCV" >/dev/null || fail unload "exit code $?"
finish
