#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 300
#
# Debian's programs of libibverbs and librdmacm, unmodified, against each other over a wire of two namespaces. Each
# checks its octets where it can. Both ends are on the direct path where they may be.
. "${0%/*}/../lib/lib.sh"
. "${0%/*}/programs.sh"

wire_up plain 1500 1 || exit 1
wire_clamp 262144
load_both || exit 1

# rping -V compares what it reads with what the other end wrote, and -v shows it.
both rping-64 "rping -s -a 0.0.0.0 -p 7174 -V -C 20" 7174 "rping -c -a $V4_RCV -p 7174 -V -C 20"
both rping-65000 "rping -s -a 0.0.0.0 -p 7174 -V -S 65000 -C 20" 7174 \
	"rping -c -a $V4_RCV -p 7174 -V -S 65000 -C 20"
both rping-v6 "rping -s -a :: -p 7174 -V -C 5" 7174 "rping -c -a $V6_RCV -p 7174 -V -C 5"
# Any address, and a client with IPv4: that of the connection is mapped.
both rping-mapped "rping -s -a :: -p 7174 -V -C 5" 7174 "rping -c -a $V4_RCV -p 7174 -V -C 5"
# Synchronous identifiers, and rdma_getaddrinfo().
both rdma_client "rdma_server -p 7471" 7471 "rdma_client -s $V4_RCV -p 7471"
# It asks for no inline octets, and sends some.
both rdma_xclient "rdma_xserver -p 7471" 7471 "rdma_xclient -s $V4_RCV -p 7471"
# The server speaks first.
both ucmatose "ucmatose -b $V4_RCV -p 7172 -c 5 -C 20 -S 4000" 7172 \
	"ucmatose -s $V4_RCV -b $V4_SND -p 7172 -c 5 -C 20 -S 4000"
# And so to a client that only answers, and does not say that it is ready, as Linux's siw.
export XIWARP_SEND_FIRST=1
reports=server both ucmatose-send-first "ucmatose -b $V4_RCV -p 7172 -c 1 -C 20 -S 4000" 7172 \
	"$BUILD/tests/net/peer/siw_end connect $V4_RCV 7172 sends=20 len=4000 reply=1 rtr=none"
unset XIWARP_SEND_FIRST

# perftest. Its data connections come after one for control.
for size in 2 65536 1048576; do
	count=$((size > 65536 ? 100 : 500))
	for kind in write read send; do
		options="-R -F -n $count -s $size"
		both "ib_${kind}_bw-$size" "ib_${kind}_bw $options" 18515 \
			"ib_${kind}_bw $options $V4_RCV"
	done
done
for kind in write read send; do
	options="-R -F -n 500 -s 64"
	both "ib_${kind}_lat" "ib_${kind}_lat $options" 18515 "ib_${kind}_lat $options $V4_RCV"
done
# It arms, polls 16 completions, and waits for an event, whatever is left.
options="-R -F -e -n 2000 -s 4096"
both ib_read_bw-events "ib_read_bw $options" 18515 "ib_read_bw $options $V4_RCV"
# With room for one Send, it takes for granted that a Send completes before the answer to it.
options="-R -F -e -n 5000 -s 64"
both ib_send_lat-events "ib_send_lat $options" 18515 "ib_send_lat $options $V4_RCV"

finish
