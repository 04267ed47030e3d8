#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# xiwarp unload while an engine serves the interface: no stretch begins between the last look at the connections and
# the detaching, and the engine has its queues again if the programs stay. And by the new name of an interface that was
# renamed. timeout: 120
. "${0%/*}/../lib/lib.sh"

xiwarp=$BUILD/xiwarp
pins=/sys/fs/bpf/xiwarp/$IF_RCV
server= tracer= client=

xdp_of() { in_ns rcv ip -d link show dev "$1" | sed -n 's/.*prog\/xdp id \([0-9]*\).*/\1/p'; }
tc_of() { egress_of rcv "$1"; }
bare() { [[ -z $(xdp_of "$IF_RCV") && $(tc_of "$IF_RCV") == 0 && ! -e $pins ]]; }
load() { in_ns rcv "$xiwarp" load "$@"; }
unload() { in_ns rcv "$xiwarp" unload "$@"; }
serve() {
	rm -rf "$TMP/in"
	mkdir "$TMP/in"
	spawn server rcv serve.log sh -c 'exec "$@" >"$0"' "$TMP/serve.json" \
		"$xiwarp" serve --json --listen $V4_RCV "$TMP/in"
	wait_listen rcv 15044 || fail serve-listens "$(cat "$TMP/serve.log")"
}
put() { in_ns snd timeout 60 "$xiwarp" put "$TMP/file" $V4_RCV; }
# direct_is PATTERN: octets_direct in the server's report.
direct_is() {
	wait_until 5 test -s "$TMP/serve.json" &&
		grep -Eq "\"octets_direct\":$1," "$TMP/serve.json"
}

wire_up plain
random_file "$TMP/file" 32
# Where xiw_egress is in clsact, unload asks for it with one message more, and with one call of bpf(2) less.
kernel_has 6 6 && clsact=0 || clsact=1

# ---- whoever connects after the last look keeps to the socket. strace stops unload before it detaches, at its second
# question about the interface's program.
expect hold-load load "$IF_RCV" || finish
serve
spawn tracer rcv unload.log "${traced[@]}" -o "$TMP/calls" -e trace=sendto \
	-e inject=sendto:signal=STOP:when=$((2 + clsact)) "$xiwarp" unload "$IF_RCV"
expect hold-stopped wait_until 10 grep -q 'stopped by SIGSTOP' "$TMP/calls"
expect hold-attached [ -n "$(xdp_of "$IF_RCV")" ]
engine_shown() { in_ns rcv "$xiwarp" status --json | grep -Eq '"engines": ?\[ ?[1-9]'; }
expect hold-engine-shown engine_shown
expect hold-put put
expect hold-none-direct direct_is 0
# Nor does an engine that begins meanwhile.
stop "$server"
serve
expect hold-late-put put
expect hold-late-none-direct direct_is 0
pkill -CONT -P "$tracer"
reap "$tracer" 20
expect hold-unloaded [ $? == 0 ]
expect hold-bare bare
stop "$server"

# ---- an unload that is killed there leaves nothing behind, neither for engines that run nor for those that begin
again() { rm -f "$TMP/in/file" && put && direct_is '[1-9][0-9]*'; }
expect killed-load load "$IF_RCV" || finish
serve
spawn tracer rcv unload.log "${traced[@]}" -o "$TMP/killed-calls" -e trace=sendto \
	-e inject=sendto:signal=STOP:when=$((2 + clsact)) "$xiwarp" unload "$IF_RCV"
expect killed-stopped wait_until 10 grep -q 'stopped by SIGSTOP' "$TMP/killed-calls"
expect killed-held put
expect killed-none-direct direct_is 0
pkill -KILL -P "$tracer"
reap "$tracer" 20
expect killed-direct wait_until 20 again
stop "$server"
serve
expect killed-new-direct again
stop "$server"
expect killed-unload unload "$IF_RCV"
expect killed-bare bare

# ---- who goes direct before that is counted, although the first list of connections had been read: strace stops unload
# when it has that, by its eleventh or twelfth question about BPF.
direct() { in_ns rcv "$xiwarp" status --json | grep -Eq '"skew":[1-9]'; }
expect late-load load "$IF_RCV" || finish
spawn server rcv server.log "$xiwarp" rping -s -a $V4_RCV
wait_listen rcv 7174 || fail late-listens "$(cat "$TMP/server.log")"
spawn tracer rcv unload.log "${traced[@]}" -o "$TMP/late-calls" -e trace=bpf \
	-e inject=bpf:signal=STOP:when=$((12 - clsact)) "$xiwarp" unload "$IF_RCV"
expect late-stopped wait_until 10 grep -q 'stopped by SIGSTOP' "$TMP/late-calls"
expect late-listed grep -q BPF_MAP_LOOKUP_BATCH "$TMP/late-calls"
spawn client snd client.log "$xiwarp" rping -c -a $V4_RCV
expect late-direct wait_until 10 direct
pkill -CONT -P "$tracer"
reap "$tracer" 20
expect late-refused [ $? == 5 ]
expect late-told grep -q "1 connection on $IF_RCV needs" "$TMP/unload.log"
stop "$client" INT
expect late-goes-on [ $? == 130 ]
reap "$server" 10
expect late-unload unload "$IF_RCV"
expect late-bare bare

# ---- a process is gone, and the peer has not heard of it: the FIN needs translation
expect fin-load load "$IF_RCV" || finish
spawn server rcv server.log "$xiwarp" rping -s -a $V4_RCV
wait_listen rcv 7174 || fail fin-listens "$(cat "$TMP/server.log")"
spawn client snd client.log "$xiwarp" rping -c -a $V4_RCV
expect fin-direct wait_until 10 direct
in_ns snd ip link set "$IF_SND" down
stop "$server" KILL
expect fin-waits wait_until 10 in_ns rcv sh -c 'ss -Htn state fin-wait-1 | grep -q :7174'
refused fin-refused 5 "1 connection on $IF_RCV needs" "$xiwarp" unload "$IF_RCV"
in_ns snd ip link set "$IF_SND" up
reap "$client" 20
expect fin-told [ $? == 7 ] # the connection has failed
expect fin-unload wait_until 10 unload "$IF_RCV"
expect fin-bare bare

# ---- the programs stay if they cannot be taken off, and connections go direct again
expect stay-load load "$IF_RCV" || finish
serve
refused stay-refused 1 "cannot detach from $IF_RCV: Cannot allocate memory" "${traced[@]}" \
	-o /dev/null -e trace=sendto -e inject=sendto:error=ENOMEM:when=$((3 + clsact)) "$xiwarp" \
	unload "$IF_RCV"
expect stay-nothing-empty sh -c "! grep -F '()' '$TMP/err'"
expect stay-put put
expect stay-direct direct_is '[1-9][0-9]*'
expect stay-unload unload "$IF_RCV"
expect stay-bare bare
stop "$server"

# ---- an interface that was renamed is unloaded by its new name: the pins have its former one
rename() { in_ns rcv ip link set "$1" down && in_ns rcv ip link set "$1" name "$2"; }
renamed_bare() { [[ -z $(xdp_of "new$$") && $(tc_of "new$$") == 0 && ! -e $pins ]]; }
expect renamed-load load "$IF_RCV"
expect renamed rename "$IF_RCV" "new$$"
expect renamed-unload unload "new$$"
expect renamed-bare renamed_bare
refused renamed-twice 4 "not loaded on new$$" "$xiwarp" unload "new$$"
# An interface without pins is not taken for the one whose pins are there.
in_ns rcv ip link add "$IF_RCV" type veth peer name "peer$$"
expect other-load load "new$$"
expect other-name rename "new$$" "mine$$"
refused other-unload 4 "not loaded on $IF_RCV" "$xiwarp" unload "$IF_RCV"
expect other-pins-stay test -e "/sys/fs/bpf/xiwarp/new$$/xiw_ingress"
expect other-unload-right unload "mine$$"
expect other-pins-gone test ! -e "/sys/fs/bpf/xiwarp/new$$"
finish
