#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 120
#
# rdma-core's own tests, unmodified, from Debian's python3-pyverbs, as a user without any capability where lo is the
# only interface, with io_uring and without: of objects, and of connections by rdma_cm. Each passes, or is skipped by
# its own rules, but for those that connect queue pairs by number.
. "${0%/*}/../lib/lib.sh"
. "${0%/*}/foreign.sh"

python=/usr/bin/python3
suite=/usr/share/doc/rdma-core/tests
if [[ ! -e $suite/base.py && ! -e $suite/base.py.gz ]]; then
	skip pyverbs "python3-pyverbs is missing, or came without its tests"
	finish
elif [[ $foreign_why ]]; then
	skip pyverbs "$foreign_why"
	finish
fi

# Copies, because other users may have no access to the build directory.
cp -r "$suite" "$TMP/tests"
gunzip -r "$TMP/tests"
install -m 755 "$BUILD"/{xiwarp,libxiw-verbs.so,libxiw-trace.so} \
	"$BUILD/tests/net/lib/forbidden" "$TMP"
chmod -R a+rX "$TMP"
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all)

wire_up plain 1500 1 || exit 1
in_ns rcv ip link del "$IF_RCV"
in_ns rcv ip link set lo up

# The tests look in sysfs for the interface of a device, and for its address there.
cat >"$TMP/within" <<'END'
mount -t tmpfs none /sys/class && mkdir -p /sys/class/infiniband/xiw_lo/device/net/lo &&
	cd "$1" && shift && exec "$@"
END

# Those of rdma_cm that expect what InfiniBand does are left out: a response before the connection is established, an
# ACK time-out that a query says, datagrams, and a Write whose completion says that its octets are there.
chosen=()
for _module in addr cq cq_events device fork mr parent_domain pd qp shared_pd xrcd; do
	chosen+=(-k "tests.test_$_module.*")
done
for _case in sync_traffic async_reject_traffic async_read; do
	chosen+=(-k "*.test_rdmacm_$_case")
done

# by_number TEST LOG: it failed where it connects queue pairs by number.
by_number() {
	awk -v "name=$1" '/^(ERROR|FAIL): / { on = $2 == name }
		on && /Failed to modify QP state to RTR/ { found = 1 }
		END { exit !found }' "$2"
}

# suite NAME CMD...: CMD stands before `xiwarp run`.
suite() {
	local name=$1 log=$TMP/$1.log pid test unknown=()
	shift
	spawn pid rcv "$name.log" unshare -m sh "$TMP/within" "$TMP" "${nobody[@]}" "$@" \
		"$TMP/xiwarp" run -- "${foreign[@]}" "$python" -u tests/run_tests.py -v \
		--dev xiw_lo --port 1 --gid 0 "${chosen[@]}"
	reap "$pid" 50
	(($? <= 1)) || stop "$pid"
	for test in $(sed -nE 's/^(ERROR|FAIL): ([a-z0-9_]+) .*/\2/p' "$log"); do
		by_number "$test" "$log" || unknown+=("$test")
	done
	expect "$name-all-ran" grep -E '^Ran [0-9]{2,3} tests' "$log"
	expect "$name-no-other-fails" [ "${#unknown[@]}" = 0 ]
	((${#unknown[@]})) && echo "${unknown[*]}" && cat "$log"
	for test in sync_traffic async_reject_traffic async_read; do
		expect "$name-$test" grep -q "^test_rdmacm_$test .* ok$" "$log"
	done
	expect "$name-many-pass" [ "$(grep -c ' ok$' "$log")" -ge 20 ]
}

suite nobody
suite without-io_uring "$TMP/forbidden" io_uring:EPERM --
finish
