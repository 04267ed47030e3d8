# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The programs of siw-programs and siw-perftest with siw at both ends: one siw, which talks to itself. This shows what
# siw cannot do: what fails here says SKIP. limit: 3000, siw: 1
#
# fio's Sends have no flow control: one finds no buffer, siw ends the stream, and the client waits for ever. Any program
# may hang now and then, as a Responder of siw overlooks an FPDU that comes right behind its Reply; but not many do.
. vmtest/siw.sh
. vmtest/programs.sh

roles=(siw siw)
cannot='*'

guest() {
	programs_up
	cm
	files
	fabric
	bandwidth 2 65536 1048576
	latency 2 65536
	expect most [ "$(grep -c '^PASS .*-siw-serves' "$RESULTS/output")" -ge 20 ]
}
