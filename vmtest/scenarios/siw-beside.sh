# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# An RNIC beside our devices, for which siw stands: a program run over xiwarp sees both, and an identifier of librdmacm
# is one of siw or of ours by its address, in both roles. The interface `own0` has none, and leads to the same namespace
# as siw's.
# limit: 900, siw: 1
. vmtest/siw.sh

second_wire() {
	ip link add own0 type veth peer name ours1 netns ours
	ethtool -K own0 tx off tso off gso off >/dev/null
	in_ours ethtool -K ours1 tx off tso off gso off >/dev/null
	ip addr add 10.89.0.1/24 dev own0
	in_ours ip addr add 10.89.0.2/24 dev ours1
	in_ours ip link set ours1 up
	ip link set own0 up
}

run() {
	"$BUILD/xiwarp" run "$@"
}

devices() {
	run -- ibv_devices >/tmp/devices && cat /tmp/devices
	run --if sw0 -- ibv_devices >/tmp/named && cat /tmp/named
	expect devices-both eval 'grep -q siw0 /tmp/devices && grep -q xiw_own0 /tmp/devices'
	expect devices-once eval '! grep -q xiw_sw0 /tmp/devices'
	expect devices-named eval 'grep -q xiw_sw0 /tmp/named && grep -q siw0 /tmp/named'
	expect devinfo eval 'run -- ibv_devinfo -d siw0 | grep -q PORT_ACTIVE'
}

# pair NAME SERVER-ADDRESS WHO: rping with its server at the address. WHO: the logs that report connections of ours.
pair() {
	local server in=(in_ours) at=()
	[[ $2 == *.1 ]] && in=() at=(in_ours)
	"${in[@]}" "$BUILD/xiwarp" run --report -- rping -s -a "$2" -C 20 -V >/tmp/server 2>&1 &
	server=$!
	sleep $((2 * XIW_PATIENCE))
	"${at[@]}" timeout $((40 * XIW_PATIENCE)) "$BUILD/xiwarp" run --report -- \
		rping -c -a "$2" -C 20 -V >/tmp/client 2>&1
	expect "$1-client" [ $? = 0 ]
	ended $server
	expect "$1-server" [ $? = 0 ]
	cat /tmp/server /tmp/client
	expect "$1-ours" eval "grep -l '1 connections' /tmp/server /tmp/client | paste -sd' ' |
		grep -qx '$3'"
}

guest() {
	siw_up
	second_wire
	devices
	# Both ends are ours on the second wire; on siw's, the end in its namespace is siw's.
	pair theirs-active 10.88.0.2 /tmp/server
	pair theirs-passive 10.88.0.1 /tmp/client
	pair ours-active 10.89.0.2 '/tmp/server /tmp/client'
	pair ours-passive 10.89.0.1 '/tmp/server /tmp/client'
}
