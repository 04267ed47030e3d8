# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# A veth wire with the kernel's netem: loss, reordering, duplication and damage. Then segments that the engine injects
# come late. limit: 600

# NAME NETEM...: a stream goes to and fro between the paths, and its octets are compared one by one. What the engine
# injects is late: after the peer has sent it again, behind what was sent later, or twice.
late() {
	local recv send sent
	spawn recv rcv "$1" "$BUILD/tests/net/path/alt" -d recv
	wait_listen rcv 15045
	spawn send snd "$1-sent" "$BUILD/tests/net/path/alt" -b 32 -t 40 send "$V4_RCV"
	# Before the first stretch, the engine finds out whether injection works.
	wait_until 5 goes_direct
	in_ns rcv tc qdisc add dev lo root netem limit 100000 "${@:2}"
	reap "$send" 30
	sent=$?
	reap "$recv" 10
	expect "$1" [ "$sent $?" = "0 0" ]
	in_ns rcv tc qdisc del dev lo root
	cat "$TMP/$1-sent" "$TMP/$1"
	expect "$1-injected" [ "$(field injected "$TMP/$1")" -gt 100 ]
}

goes_direct() {
	in_ns rcv "$BUILD/xiwarp" status --json >"$TMP/status" 2>/dev/null
	local octets
	octets=$(field octets_direct "$TMP/status")
	((${octets:-0} > 10000))
}

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
	in_ns snd tc qdisc del dev "$IF_SND" root
	wire_clamp 131072
	late late delay 20ms
	late late-in-any-order delay 200ms 190ms duplicate 30%
	# So late that the engine takes them for lost.
	late late-for-lost delay 4s
	expect taken-for-lost grep -q '"injections lost"' "$TMP/late-for-lost"
	finish
}
