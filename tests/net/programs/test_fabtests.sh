#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 900
#
# The programs of fabtests, libfabric's own tests, over a wire of two namespaces by the direct path: by our provider,
# and by libfabric's verbs provider over the preloaded library. FABTESTS names the directory of the programs, if they
# are not in PATH. CASE: only names with this word.
. "${0%/*}/../lib/lib.sh"
. "${0%/*}/programs.sh"

PATH=${FABTESTS:+$FABTESTS:}$PATH
if ! command -v fi_rdm_pingpong >/dev/null; then
	skip fabtests "no package of Debian's has its programs, which are part of libfabric's" \
		"sources (github.com/ofiwg/libfabric): FABTESTS names their directory"
	finish
fi

# by PROVIDER COMMAND [PORT]: it listens at the port, 9228 unless it is said, or before that at 3000, for itself.
by() {
	local name=${2// /_} log=$TMP/client
	[[ -z ${CASE:-} || "$1-$name" == *"$CASE"* ]] || return
	if [[ $1 == xiwarp* ]]; then
		rcv=(env "FI_PROVIDER_PATH=$BUILD" XIWARP_REPORT=1)
		snd=("${rcv[@]}")
	else
		rcv=("$xiwarp" run --report --if "$IF_RCV" --)
		snd=("$xiwarp" run --report --if "$IF_SND" --)
	fi
	both "$1-$name" "$2 -p $1 -s $V4_RCV" "${3:-9228}" "$2 -p $1 -s $V4_SND $V4_RCV"
}

both_providers() {
	by "xiwarp$type" "$@"
	by "verbs$type" "$@"
}

# refuses COMMAND: our provider says that it has no such thing (FI_ENODATA), and it is not found out later.
refuses() {
	local rc
	in_ns rcv env "FI_PROVIDER_PATH=$BUILD" timeout 20 $1 -p xiwarp -s "$V4_RCV" \
		>"$TMP/out" 2>&1 </dev/null
	rc=$?
	((rc == 61)) || { cat "$TMP/out"; echo "exit code $rc"; return 1; }
}

wire_up plain 1500 1 || exit 1
wire_clamp 262144
load_both || exit 1

type=
both_providers fi_msg
both_providers "fi_msg_pingpong -I 20 -v"
both_providers "fi_msg_bw -I 20 -v"
both_providers "fi_rma_bw -e msg -o write -I 20 -v"
both_providers "fi_rma_bw -e msg -o read -I 20 -v"
both_providers fi_cm_data
both_providers fi_msg_epoll
both_providers fi_msg_sockets
both_providers "fi_multi_ep -e msg -v" 3000
# It sends more than there are buffers for, and a Send that waits for one takes the kernel's path.
least=0
both_providers "fi_bw -e msg -v -T 1"
by xiwarp "fi_resmgmt_test -e msg"
least=
by xiwarp "fi_rma_bw -e msg -o writedata -I 20"
by xiwarp "fi_shared_ctx -e msg --no-tx-shared-ctx"

type=";ofi_rxm"
both_providers fi_rdm
both_providers "fi_rdm_pingpong -I 20 -v"
both_providers "fi_rdm_tagged_pingpong -I 20 -v"
both_providers "fi_rdm_tagged_bw -I 20 -v"
both_providers "fi_rdm_cntr_pingpong -I 20"
both_providers "fi_rma_bw -e rdm -o write -I 20"
both_providers "fi_rma_bw -e rdm -o read -I 20"
both_providers "fi_rdm_atomic -I 2 -o all"
both_providers "fi_msg_inject -A inj_complete -v"
both_providers "fi_unexpected_msg -e rdm -I 10" 3000
both_providers "fi_multi_recv -e rdm -I 5" 3000
both_providers "fi_bw -e rdm -v -T 1"
both_providers "fi_resmgmt_test -e rdm"
both_providers fi_rdm_tagged_peek
both_providers "fi_multi_ep -e rdm -v" 3000
both_providers "fi_av_xfer -e rdm" 3000
both_providers "fi_poll -t queue"
both_providers "fi_poll -t counter"
# The last message comes right before the other end closes. libfabric's verbs provider drops what it has not polled when
# it hears of that.
both_providers "fi_msg_inject -A inject -v"
both_providers "fi_msg_inject -N -A inject -v"
both_providers "fi_rdm_multi_client -C 3 -I 5"
both_providers "fi_recv_cancel -e rdm -V"
# libfabric's verbs provider has no remote CQ data on iWARP.
by "xiwarp$type" "fi_cq_data -e rdm"
by "xiwarp$type" "fi_rma_bw -e rdm -o writedata -I 20"

for command in "fi_cq_data -e msg" "fi_shared_ctx -e msg" "fi_recv_cancel -e msg"; do
	expect "refuses-${command// /_}" refuses "$command"
done
finish
