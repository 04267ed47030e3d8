# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Sourced by lib.sh.
#
#   load_patient SIDE [OPTION...]   as `xiwarp load`, but XDP does not take an engine that stands still for a dead one
#   patient                         makes such a command as $TMP/xiwarp-patient
#
# XDP gives a stream to the kernel if the engine has left frames on the ring for 200 ms, or for 150 ms while the peer
# repeats them. A machine under load, and a host that takes the CPUs of its VMs, let a process stand still for so long.
# A test of what goes direct, and not of when XDP takes it back, loads the programs with 30 s for both limits: they are
# the .rodata of the BPF object (bpf/watchdog.h), which the command contains, and a copy of the command gets others.

_limits='\x00\xc2\xeb\x0b\x00\x00\x00\x00\x80\xd1\xf0\x08\x00\x00\x00\x00'
_patient_limits='\x00\xac\x23\xfc\x06\x00\x00\x00\x00\xac\x23\xfc\x06\x00\x00\x00'

patient() {
	local command=$TMP/xiwarp-patient
	[[ ! -x $command ]] || return 0
	LC_ALL=C sed "s/$_limits/$_patient_limits/" "$BUILD/xiwarp" >"$command" || return
	if cmp -s "$BUILD/xiwarp" "$command"; then
		echo "patient: the command does not have the limits of bpf/watchdog.h"
		return 1
	fi
	chmod 755 "$command"
}

load_patient() {
	local side=$1
	shift
	patient && in_ns "$side" "$TMP/xiwarp-patient" load "$(_if "$side")" "$@" >/dev/null
}
