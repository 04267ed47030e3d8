#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 60
#
# How long connections, listeners, regions and their completions live, over loopback.

. "$(dirname "$0")/lib.sh"

"$BUILD/tests/net/objects" || ((_failures++))
finish
