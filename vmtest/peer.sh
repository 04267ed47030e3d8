# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# bash -c '. vmtest/peer.sh' NAME SCENARIO RESULTS TAP: runs peer() of the scenario at the other end of the VM's wire.
RESULTS=$2 IF_PEER=$3
set -u
. vmtest/common.sh
# shellcheck disable=SC1090
. "$1" || exit 1
peer
say peer-ended "$?"
