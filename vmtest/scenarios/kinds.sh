# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Interfaces of kinds that the machine's own kernel may not have. limit: 1800
guest() {
	local m
	for m in macvlan ipvlan 8021q bridge tun nf_tables nft_ct nft_fib_inet; do
		modprobe "$m"
	done
	CASE=vlan tests/net/matrix/test_kinds.sh
}
