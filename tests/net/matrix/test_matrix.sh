#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 400
#
# A part of the fault matrix; `make faults` runs all of it.
exec bash "${0%/*}/run" --quick
