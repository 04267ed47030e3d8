#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The preloaded library has every function of libibverbs and librdmacm that could get an object of ours: the real one
# would take it for its own. And it shows nothing else, which could stand in the way of a program's own functions.
. "${0%/*}/../report.sh"
cd "${0%/*}/../.." || exit

ours=${XIW_BUILD:-build}/libxiw-verbs.so

# What is left to the real libraries, because no object is given to it: names of numbers, copies between two forms of a
# structure, fork() and hardware, providers' own, and what needs an object that we refuse to make.
left='
	ibv_event_type_str ibv_node_type_str ibv_port_state_str ibv_wc_status_str rdma_event_str
	ibv_rate_to_mbps ibv_rate_to_mult mbps_to_ibv_rate mult_to_ibv_rate
	ibv_copy_ah_attr_from_kern ibv_copy_path_rec_from_kern ibv_copy_path_rec_to_kern
	ibv_copy_qp_attr_from_kern
	ibv_fork_init ibv_is_fork_initialized ibv_dofork_range ibv_dontfork_range
	ibv_register_driver ibv_read_sysfs_file ibv_get_sysfs_path
	ibv_import_device ibv_unimport_pd ibv_unimport_mr ibv_unimport_dm
	raccept rbind rclose rconnect rfcntl rgetpeername rgetsockname rgetsockopt riomap riounmap
	riowrite rlisten rpoll rread rreadv rrecv rrecvfrom rrecvmsg rselect rsend rsendmsg rsendto
	rsetsockopt rshutdown rwrite rwritev '

# Those with a private version are for providers, but for this one, which programs of rdma-core call.
private=ibv_query_gid_type
functions() {
	nm -D --defined-only "$1" |
		awk '$2 == "T" && !/_PRIVATE_/ { sub(/@.*/, "", $3); print $3 }' | sort -u
}

# The ways to leave without destructors, which are libc's.
leaves='_exit _Exit execl execle execlp execv execve execveat execvp execvpe fexecve'

# `run --trace` tells of every function that can fail or be refused. These cannot, or return a count.
untold='
	ibv_ack_async_event ibv_free_device_list ibv_get_device_guid ibv_get_device_index
	ibv_get_device_name ibv_query_qp_data_in_order _ibv_query_gid_table rdma_ack_cm_event
	rdma_free_devices rdma_freeaddrinfo rdma_get_dst_port rdma_get_src_port '
missing=()
for name in $(comm -23 <(functions "$ours") <(functions "${ours%/*}/libxiw-trace.so")); do
	[[ " $leaves $untold" == *[[:space:]]"$name"[[:space:]]* ]] || missing+=("$name")
done
if ((${#missing[@]})); then
	fail traced "not traced: ${missing[*]}"
else
	pass traced
fi

declare -A have
while read -r name; do
	have[$name]=1
done < <(functions "$ours")

for library in libibverbs.so.1 librdmacm.so.1; do
	path=$(ldconfig -p | awk -v name="$library" '$1 == name { print $NF; exit }')
	missing=()
	if [[ -z $path ]]; then
		fail "$library" "it is not installed"
		continue
	fi
	for name in $(functions "$path"); do
		[[ $left == *[[:space:]]"$name"[[:space:]]* || ${have[$name]-} ]] ||
			missing+=("$name")
		unset "have[$name]"
	done
	if ((${#missing[@]})); then
		fail "$library" "not interposed: ${missing[*]}"
	else
		pass "$library"
	fi
done
missing=()
for name in $private $leaves; do
	[[ ${have[$name]-} ]] || missing+=("$name")
	unset "have[$name]"
done
if ((${#missing[@]})); then
	fail others "not interposed: ${missing[*]}"
else
	pass others
fi
if ((${#have[@]})); then
	fail nothing-else "${!have[*]}"
else
	pass nothing-else
fi
finish
