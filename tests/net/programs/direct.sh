# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What `xiwarp run --report` has said in the logs of programs:
#
#   received LOG...         octets, and how many per cent of them by the direct path
#   direct_enough LOG LEAST was that at least so many per cent, if it was more than 1 MiB? No, if there is no report

received() {
	sed -n 's/.*xiwarp: .* \([0-9]*\) octets received, \([0-9.]*\) % .*/\1 \2/p' "$@"
}

direct_enough() {
	grep -q 'xiwarp: .* octets received' "$1" && received "$1" | awk -v "least=$2" \
		'$1 > 1048576 && $2 < least { few = 1 } END { exit few }'
}
