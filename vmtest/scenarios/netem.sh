# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# A veth wire with the kernel's netem: loss, reordering, duplication and damage. limit: 400
guest() {
	modprobe sch_netem || return
	. tests/net/lib/lib.sh
	. vmtest/file.sh
	json=$TMP/reports
	wire_up plain 1500
	in_ns rcv "$BUILD/xiwarp" load "$IF_RCV"
	random_file "$TMP/file" 8
	mkdir "$TMP/in"
	for impairment in 'loss 0.5%' 'delay 2ms reorder 5% 50%' 'duplicate 1%' 'corrupt 0.2%'; do
		# shellcheck disable=SC2086
		in_ns snd tc qdisc replace dev "$IF_SND" root netem limit 4000 $impairment
		rm -f "$TMP/in/file"
		spawn server rcv serve "$BUILD/xiwarp" serve --once --json "$TMP/in"
		wait_listen rcv 15044
		in_ns snd timeout 300 "$BUILD/xiwarp" put "$TMP/file" "$V4_RCV"
		reap "$server" 30
		cat "$TMP/serve"
		grep '^{' "$TMP/serve" >>"$json"
		expect "${impairment// /-}" cmp "$TMP/file" "$TMP/in/file"
	done
	direct_above 50
	finish
}
