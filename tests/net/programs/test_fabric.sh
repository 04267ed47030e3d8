#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 300
#
# The provider for libfabric: as an application of our own uses it, and with libfabric's fi_pingpong, over a wire of two
# namespaces by both paths; with libfabric's verbs provider at one end; and Open MPI, whose ranks are in one namespace.
. "${0%/*}/../lib/lib.sh"
. "${0%/*}/../lib/second.sh"
. "${0%/*}/foreign.sh"

provider=$BUILD/libxiw-fi.so fabric=$BUILD/tests/net/programs/fabric
export FI_PROVIDER_PATH=$BUILD
server=

_silent() {
	_port_free "$1" "$2"
}

# both PORT SERVER CLIENT: SERVER on rcv, CLIENT on snd; both succeed. No connection but by $path is made.
both() {
	local client rc_client rc_server
	wait_until 10 _silent rcv "$1" || return
	# The commands are words of ours, without blanks in them.
	# shellcheck disable=SC2086
	spawn server rcv server "${foreign[@]}" env XIWARP_PATH="$path" $2
	wait_listen rcv "$1" || { cat "$TMP/server"; stop "$server"; return 1; }
	# shellcheck disable=SC2086
	spawn client snd client "${foreign[@]}" env XIWARP_PATH=auto $3
	reap "$client" 60
	rc_client=$?
	((rc_client == 124)) && stop "$client"
	reap "$server" 20
	rc_server=$?
	((rc_server == 124)) && stop "$server"
	cat "$TMP/server" "$TMP/client"
	((rc_client == 0 && rc_server == 0))
}

# Nothing else of ours is seen by the program, and nothing is unloaded under the feet of our threads.
exported() {
	[[ $(nm -D --defined-only "$provider" | awk '{ print $3 }') == fi_prov_ini ]] &&
		readelf -d "$provider" | grep NODELETE
}

offered() {
	in_ns rcv "${foreign[@]}" fi_info -p xiwarp >"$TMP/info" && cat "$TMP/info" &&
		grep -q "domain: $IF_RCV" "$TMP/info" && grep -q FI_PROTO_IWARP "$TMP/info" &&
		grep -q "xiwarp;ofi_rxm" "$TMP/info" && ! grep -q "domain: lo" "$TMP/info"
}

# Who does not ask for it gets what he had.
not_first() {
	in_ns rcv "${foreign[@]}" fi_info | head -n 1 >"$TMP/info" && cat "$TMP/info" &&
		grep -qv xiwarp "$TMP/info"
}

application() {
	both 15777 "$fabric serve $V4_RCV 15777" "$fabric connect $V4_RCV 15777" || return
	for name in reject connect messages rma remote-cq-data trywait shutdown wrong-key \
		shared-context selective closed-with-message; do
		grep -qx "PASS $name" "$TMP/client" || return
	done
}

pingpong() {
	both 47592 "fi_pingpong -c -I 50 -e $1 -p $2" "fi_pingpong -c -I 50 -e $1 -p $2 $V4_RCV"
}

# libfabric's provider for verbs, over the preloaded library, at the other end.
with_verbs() { # SERVER CLIENT
	both 47592 "$1" "$2 $V4_RCV"
}

mpi() {
	local ranks
	spawn ranks rcv mpi timeout 90 mpirun --allow-run-as-root --oversubscribe --mca pml cm \
		--mca mtl ofi --mca mtl_ofi_provider_include xiwarp --mca btl '^vader' \
		-np "$1" "${foreign[@]}" "$TMP/mpi_all"
	reap "$ranks" 100 || { stop "$ranks"; cat "$TMP/mpi"; return 1; }
	cat "$TMP/mpi"
	grep -qx "all right" "$TMP/mpi"
}

wire_up plain 1500 1 || exit 1
wire_clamp 262144
expect exports exported
expect local in_ns rcv "${foreign[@]}" "$fabric" local "$V4_RCV"

# A listener without an address of its own is reached by each interface, and tells by which.
second_wire_up
wildcard() {
	spawn server rcv server "${foreign[@]}" "$fabric" serve-any "$1" 15779 3
	wait_listen rcv 15779 || { cat "$TMP/server"; return 1; }
	for host in 10.78.0.2 "$V4_RCV" 10.78.0.2; do
		in_ns snd timeout 30 "${foreign[@]}" "$fabric" connect-any "$host" 15779 || break
	done
	reap "$server" 20 || { stop "$server"; cat "$TMP/server"; return 1; }
	cat "$TMP/server"
	[[ $(<"$TMP/server") == "domain $second"$'\n'"domain $IF_RCV"$'\n'"domain $second" ]]
}
expect wildcard-none wildcard -
expect wildcard-v4 wildcard 0.0.0.0
expect wildcard-v6 wildcard ::
in_ns rcv ip link del "$second"
if [[ $foreign_why ]]; then
	debian=
	skip programs "$foreign_why"
else
	debian=1
	expect offered offered
	expect not-first not_first
fi
for path in kernel direct; do
	if [[ $path == direct ]]; then
		load_patient rcv || exit 1
	fi
	expect "$path-application" application
	if [[ $debian ]]; then
		expect "$path-pingpong-msg" pingpong msg xiwarp
		expect "$path-pingpong-rdm" pingpong rdm 'xiwarp;ofi_rxm'
	fi
done
if [[ $debian ]]; then
	run="$BUILD/xiwarp run --" ours="fi_pingpong -c -I 50 -e" path=auto
	expect verbs-serves-msg with_verbs "$run $ours msg -p verbs" "$ours msg -p xiwarp"
	expect verbs-serves-rdm with_verbs "$run $ours rdm -p verbs;ofi_rxm" \
		"$ours rdm -p xiwarp;ofi_rxm"
	expect verbs-connects-msg with_verbs "$ours msg -p xiwarp" "$run $ours msg -p verbs"
	expect verbs-connects-rdm with_verbs "$ours rdm -p xiwarp;ofi_rxm" \
		"$run $ours rdm -p verbs;ofi_rxm"
	expect mpicc mpicc -O2 -Wall -o "$TMP/mpi_all" "${0%/*}/mpi_all.c"
	for ranks in 2 3 4; do
		expect "mpi-$ranks" mpi "$ranks"
	done
fi
finish
