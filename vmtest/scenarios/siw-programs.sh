# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Debian's programs of librdmacm, fio, and libfabric's provider for verbs, over siw at one end and over what
# `xiwarp run` preloads at the other, in both roles. limit: 1800, siw: 1
. vmtest/siw.sh
. vmtest/programs.sh

# fio's Sends have no flow control. One that finds no buffer waits with ours; siw ends the stream.
cannot="fio-send-siw-serves"

guest() {
	programs_up
	cm
	files
	fabric
	shares
}
