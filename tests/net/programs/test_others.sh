#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 300
#
# More of Debian's programs, unmodified: fio, qperf, cmtime, and libfabric's own provider for verbs. `make programs`
# installs them; elsewhere those that are missing are skipped.
. "${0%/*}/../lib/lib.sh"
. "${0%/*}/programs.sh"

wire_up plain 1500 1 || exit 1
wire_clamp 262144
load_both || exit 1
cd "$TMP" || exit # fio leaves files there

# has PROGRAM NAME...: is it there? If not, the cases with these names are skipped.
has() {
	local program=$1 name
	shift
	type "$program" >/dev/null 2>&1 && return
	for name in "$@"; do
		skip "$name" "$program is not installed (make programs)"
	done
	return 1
}

# job FILE OPTION...
job() {
	printf '%s\n' '[job]' ioengine=rdma thread=1 bs=64k size=32m iodepth=8 "${@:2}" >"$TMP/$1"
}

# The receiver checks a header and a checksum in each block.
if has fio fio-write fio-read fio-send; then
	for verb in write read send; do
		job "$verb.server" port=7801 rw=read verify=crc32c
		job "$verb.client" port=7801 rw=write verify=crc32c do_verify=0 \
			"hostname=$V4_RCV" "verb=$verb"
		both "fio-$verb" "fio $TMP/$verb.server" 7801 "fio $TMP/$verb.client"
	done
fi

# These servers go on until they are stopped.
if has qperf qperf; then
	# It writes with Immediate Data.
	export XIWARP_EXTENDED=1
	service qperf "qperf -lp 19765" 19765 \
		"qperf -lp 19765 -cm 1 -t 1 $V4_RCV rc_bw rc_lat rc_rdma_write_bw rc_rdma_read_bw"
	unset XIWARP_EXTENDED
fi
if has cmtime cmtime; then
	reports=client service cmtime cmtime 7471 "cmtime -s $V4_RCV -c 1000"
fi

if has fi_pingpong fi_pingpong-msg fi_pingpong-rdm; then
	both fi_pingpong-msg "fi_pingpong -p verbs -e msg -c" 47592 \
		"fi_pingpong -p verbs -e msg -c $V4_RCV"
	both fi_pingpong-rdm "fi_pingpong -p verbs;ofi_rxm -e rdm -c" 47592 \
		"fi_pingpong -p verbs;ofi_rxm -e rdm -c $V4_RCV"
fi
finish
