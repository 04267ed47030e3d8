#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Floods against a shared receive queue (flood.c), honest peers beside them, on the kernel path and with the programs
# loaded. timeout: 240
. "${0%/*}/../lib/lib.sh"

wire_up plain 1500
cases flood flood_end kernel
in_ns rcv "$BUILD/xiwarp" load "$IF_RCV" >/dev/null || fail load "exit code $?"
cases flood flood_end direct
in_ns rcv "$BUILD/xiwarp" unload "$IF_RCV" >/dev/null || fail unload "exit code $?"
finish
