#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 60
#
# How connections end: graceful and abortive teardown, half-close (RFC 5041 section 6.2).

. "${0%/*}/../lib/lib.sh"

"$BUILD/tests/net/conn/teardown" || ((_failures++))
finish
