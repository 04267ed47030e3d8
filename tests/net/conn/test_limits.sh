#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 120
#
# What peers can make an engine take: limits.c.

. "${0%/*}/../lib/lib.sh"

"$BUILD/tests/net/conn/limits" || ((_failures++))
finish
