#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 120
#
# What peers can make an engine take: limits.c.

. "$(dirname "$0")/lib.sh"

"$BUILD/tests/net/limits" || ((_failures++))
finish
