# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
# For scripts that have sourced lib.sh: a second wire from snd, 10.78.0.1, to rcv, 10.78.0.2, whose interface there is
# $second. It goes with its namespaces.

second_wire_up() {
	second=${IF_RCV}b
	in_ns rcv ip link add "$second" type veth peer name "${IF_SND}b" netns "$(_ns snd)"
	in_ns rcv ip addr add 10.78.0.2/24 dev "$second"
	in_ns snd ip addr add 10.78.0.1/24 dev "${IF_SND}b"
	in_ns rcv ip link set "$second" up
	in_ns snd ip link set "${IF_SND}b" up
}
