# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# perftest over siw at one end and over what `xiwarp run` preloads at the other, in both roles. limit: 2400, siw: 1
. vmtest/siw.sh
. vmtest/programs.sh

guest() {
	programs_up
	bandwidth 2 65536 1048576
	latency 2 65536
	shares
}
