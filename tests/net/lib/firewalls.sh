# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Firewalls as administrators write them, for the receiver's host. What the engine injects over lo passes each of them.
#
#   firewalls           their names, which are those of the files in tests/net/lib/firewalls
#   firewall NAME PORT  prints the rules for nft; PORT is the receiver's

firewalls=("$ROOT"/tests/net/lib/firewalls/*.nft)
firewalls=("${firewalls[@]##*/}")
firewalls=("${firewalls[@]%.nft}")

firewall() {
	sed "s/PORT/$2/" "$ROOT/tests/net/lib/firewalls/$1.nft"
}
