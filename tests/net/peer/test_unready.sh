#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Receiver not ready (hold_ms): Sends that come before their buffers, from a peer of plain sockets (unready.c), on the
# kernel path and with the programs loaded. timeout: 120
. "${0%/*}/../lib/lib.sh"

wire_up plain 1500
cases unready unready_end kernel
load_patient rcv || fail load "exit code $?"
cases unready unready_end direct
in_ns rcv "$BUILD/xiwarp" unload "$IF_RCV" >/dev/null || fail unload "exit code $?"
finish
