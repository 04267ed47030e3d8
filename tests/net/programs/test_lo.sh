#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 180
#
# Where lo is the only interface, as in a container without a network, it is a device without being asked for. Debian's
# programs, unmodified, then reach each other as a user without any capability, where the kernel refuses io_uring, too.
. "${0%/*}/../lib/lib.sh"
. "${0%/*}/foreign.sh"

# Copies, because other users may have no access to the build directory.
install -m 755 "$BUILD"/{xiwarp,libxiw-verbs.so,libxiw-trace.so,libxiw-fi.so} \
	"$BUILD/tests/net/lib/forbidden" "$TMP"
chmod 755 "$TMP"
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all)
run=("${foreign[@]}" "$TMP/xiwarp" run --report --)
fabric=("${foreign[@]}" env "FI_PROVIDER_PATH=$TMP")

# Of these two namespaces one has lo alone, and one has an interface beside it.
wire_up plain 1500 1 || exit 1
in_ns rcv ip link del "$IF_RCV"
in_ns snd ip link add "$IF_SND" type veth peer name "${IF_SND}x"
in_ns snd ip addr add $V4_SND/24 dev "$IF_SND"
in_ns snd ip link set "$IF_SND" up
in_ns rcv ip link set lo up
in_ns snd ip link set lo up

# pair NAME PORT SERVER CLIENT: both by whoever `as` is, on rcv, with 127.0.0.1 behind CLIENT.
pair() {
	local name=$1 port=$2 server client rc
	wait_until 10 _port_free rcv "$port"
	# The commands are words of ours, without blanks in them.
	# shellcheck disable=SC2086
	spawn server rcv server "${as[@]}" $3
	wait_listen rcv "$port" || {
		fail "$name" "the server does not listen: $(cat "$TMP/server")"
		stop "$server"
		return
	}
	# shellcheck disable=SC2086
	spawn client rcv client "${as[@]}" $4 127.0.0.1
	reap "$client" 60
	rc=$?
	((rc == 124)) && stop "$client"
	reap "$server" 20 || stop "$server"
	if ((rc)); then
		fail "$name" "exit code $rc: $(cat "$TMP/client" "$TMP/server")"
	else
		pass "$name"
	fi
}

programs() {
	local pingpong ep
	pair "$1-rping" 7174 "${run[*]} rping -s -a 0.0.0.0 -p 7174 -V -C 20" \
		"${run[*]} rping -c -p 7174 -V -C 20 -a"
	pair "$1-ib_send_bw" 18515 "${run[*]} ib_send_bw -R -F -n 100 -s 65536" \
		"${run[*]} ib_send_bw -R -F -n 100 -s 65536"
	for ep in msg rdm; do
		pingpong="${fabric[*]} fi_pingpong -c -I 50 -e $ep -p xiwarp"
		pair "$1-fi_pingpong-$ep" 47592 "$pingpong" "$pingpong"
	done
}

# Two ranks on one host, which have no other transport than the provider, and check each octet (mpi_all.c).
mpi() {
	local ranks
	spawn ranks rcv mpi env HOME="$TMP/home" TMPDIR="$TMP/home" FI_PROVIDER_PATH="$TMP" \
		"${as[@]}" timeout 60 mpirun --oversubscribe --mca pml cm --mca mtl ofi \
		--mca mtl_ofi_provider_include xiwarp --mca btl self --mca osc pt2pt \
		-x FI_PROVIDER_PATH -x XIWARP_REPORT=1 -np 2 "${foreign[@]}" "$TMP/mpi_all"
	reap "$ranks" 70 || { stop "$ranks"; cat "$TMP/mpi"; return 1; }
	cat "$TMP/mpi"
	grep -qx "all right" "$TMP/mpi" &&
		(($(grep -cE "xiwarp: .* [1-9][0-9]* octets received, 0\.0 %" "$TMP/mpi") == 2))
}

install -d -o 65534 "$TMP/home"
expect mpicc mpicc -O2 -Wall -o "$TMP/mpi_all" "$ROOT/tests/net/programs/mpi_all.c"

as=("${nobody[@]}")
programs nobody
expect nobody-mpi mpi
as=("${nobody[@]}" "$TMP/forbidden" io_uring:EPERM --)
programs without-io_uring
expect without-io_uring-mpi mpi
expect without-io_uring-epoll grep -q "; ring epoll (" "$TMP/mpi"

# ---- beside another interface it is none, as before
fabric_has() { # SIDE
	in_ns "$1" "${fabric[@]}" fi_info -p xiwarp 2>&1 | grep -q "domain: lo$"
}
verbs_has() { # SIDE
	in_ns "$1" "${run[@]}" ibv_devices 2>&1 | grep -q "xiw_lo"
}
expect listed verbs_has rcv
expect not-listed-beside eval '! verbs_has snd'
expect offered fabric_has rcv
expect not-offered-beside eval '! fabric_has snd'
finish
