#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 240
#
# A short soak with some connections. `make soak` runs it at length.

CONNS=200 SECS=15 WARM=8 STALL=4 exec bash "${0%/*}/run"
