#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 400
#
# Open MPI over several hosts: each rank is in a namespace of its own, with a host name of its own, so that no octet
# goes by shared memory. A bridge joins the interfaces, which have four queues each. What a rank receives comes by the
# direct path. The ranks check each octet (mpi_all.c). After a time-out, as on a machine that stands still, Linux sends
# with another hash, which veth takes for another queue, perhaps of the other engine: the hosts do not do that.
. "${0%/*}/../lib/lib.sh"
. "${0%/*}/foreign.sh"

RANKS=4 QUEUES=4
printf -v id '%x' $$
hosts=() # pids, each of a process that keeps its namespaces there

if [[ $foreign_why ]]; then
	skip mpi "$foreign_why"
	finish
fi

# lib.sh calls it at the end. The interfaces go with the namespaces.
wire_down() {
	local i
	for ((i = 1; i <= RANKS; i++)); do
		rm -rf "$_bpffs/xiwarp/xm$id$i"
	done
}

# in_host I CMD...: 0 is the bridge's.
in_host() {
	local pid=${hosts[$1]}
	shift
	nsenter --net="/proc/$pid/ns/net" --uts="/proc/$pid/ns/uts" -- "$@"
}

_apart() { # PID
	[[ $(readlink "/proc/$1/ns/net") != "$(readlink /proc/self/ns/net)" ]]
}

make_host() { # I
	local pid
	spawn pid host "host$1" unshare --net --uts sh -c "hostname rank$1; exec sleep 1000"
	wait_until 5 _apart "$pid" || return
	hosts[$1]=$pid
	in_host "$1" ip link set lo up
}

join_host() { # I
	local ifname=xm$id$1
	ip link add "$ifname" numrxqueues "$QUEUES" numtxqueues "$QUEUES" netns "${hosts[$1]}" \
		type veth peer name "p$1" numrxqueues "$QUEUES" numtxqueues "$QUEUES" \
		netns "${hosts[0]}" &&
		in_host "$1" ethtool -K "$ifname" tx off tso off gso off gro on >/dev/null &&
		in_host "$1" ip addr add "10.78.0.$1/24" dev "$ifname" &&
		in_host "$1" ip link set "$ifname" up &&
		in_host 0 ip link set "p$1" master bridge up &&
		in_host "$1" sh -c 'echo "4096 16384 262144" >/proc/sys/net/ipv4/tcp_wmem' &&
		in_host "$1" sh -c 'echo 0 >/proc/sys/net/core/txrehash' &&
		in_host "$1" "$TMP/xiwarp-patient" load "$ifname" >/dev/null
}

# What mpirun calls as it would call ssh: HOST COMMAND.
agent() {
	local i
	echo '#!/bin/sh'
	echo 'case $1 in'
	for ((i = 1; i <= RANKS; i++)); do
		echo "10.78.0.$i) pid=${hosts[i]} ;;"
	done
	cat <<'END'
esac
shift
exec nsenter --net=/proc/$pid/ns/net --uts=/proc/$pid/ns/uts -- sh -c "$*"
END
}

options=(--allow-run-as-root --mca plm_rsh_agent "$TMP/agent" --mca pml cm --mca mtl ofi
	--mca mtl_ofi_provider_include xiwarp --mca btl self --mca osc pt2pt
	-x FI_PROVIDER_PATH -x XIWARP_REPORT=1)

# mpi RANKS HOSTS OPTION...: each of the ranks reports, and at least $least % came by the direct path.
mpi() {
	local ranks list= i
	for ((i = 1; i <= $2; i++)); do
		list+=${list:+,}10.78.0.$i:$(($1 / $2))
	done
	spawn ranks host mpi nsenter --net="/proc/${hosts[1]}/ns/net" \
		--uts="/proc/${hosts[1]}/ns/uts" -- env FI_PROVIDER_PATH="$BUILD" timeout 90 \
		mpirun "${options[@]}" --host "$list" -np "$1" "${@:3}" "${foreign[@]}" \
		"$TMP/mpi_all"
	reap "$ranks" 100 || { stop "$ranks"; cat "$TMP/mpi"; return 1; }
	cat "$TMP/mpi"
	grep -qx "all right" "$TMP/mpi" && ! grep -q "another engine has it" "$TMP/mpi" &&
		sed -n 's/.*xiwarp: .* \([0-9]*\) octets received, \([0-9.]*\) % .*/\1 \2/p' \
			"$TMP/mpi" | awk -v "ranks=$1" -v "least=$least" '
			$1 > 1048576 && $2 >= least { n++ } END { exit n != ranks }'
}

patient && make_host 0 && in_host 0 ip link add bridge type bridge &&
	in_host 0 ip link set bridge up || exit 1
for ((i = 1; i <= RANKS; i++)); do
	make_host "$i" && join_host "$i" || exit 1
done
agent >"$TMP/agent"
chmod +x "$TMP/agent"
expect mpicc mpicc -O2 -Wall -o "$TMP/mpi_all" "${0%/*}/mpi_all.c"
least=95
for ((i = 2; i <= RANKS; i++)); do
	expect "hosts-$i" mpi "$i" "$i"
done
# Two ranks on each host have two queues each. Which of its connections come on them the interface decides.
least=0
expect queues-4 mpi 4 2 -x XIWARP_QUEUES=2
sed -n 's/.*xiwarp: /# /p' "$TMP/mpi"
finish
