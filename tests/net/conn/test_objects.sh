#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 60
#
# How long connections, listeners, regions and their completions live, over loopback.

. "${0%/*}/../lib/lib.sh"

"$BUILD/tests/net/conn/objects" || ((_failures++))
finish
