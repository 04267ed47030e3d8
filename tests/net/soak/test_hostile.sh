#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 240
#
# A few attackers. `make hostile` has ten thousand of them, under the sanitizers.

SEED=${SEED:-1} ATTACKERS=600 exec bash "${0%/*}/hostile"
