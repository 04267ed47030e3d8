#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What administrators do: names with dots, namespaces of all kinds, interfaces that do not exist, the recipe of the
# manual, and what a killed command leaves behind. timeout: 180
. "${0%/*}/../lib/lib.sh"

xiwarp=$BUILD/xiwarp
base=/sys/fs/bpf/xiwarp
pins=$base/$IF_RCV
dotted=$IF_RCV.1
dotted_pins=$base/${dotted/./:}
server= sender=

xdp_on() { in_ns "$1" ip -d link show dev "$2" | grep -q 'prog/xdp'; }
tc_on() { (($(egress_of "$1" "$2"))); }
on() { xdp_on "$1" "$2" && tc_on "$1" "$2"; }
off() { ! xdp_on "$1" "$2" && ! tc_on "$1" "$2"; }
run() { # SIDE ARGUMENT...
	local side=$1
	shift
	in_ns "$side" "$xiwarp" "$@"
}
says() { # SIDE WORDS ARGUMENT...
	local side=$1 words=$2
	shift 2
	run "$side" "$@" 2>&1 | grep -qF -- "$words"
}
silent_about() { ! run "$1" status | grep -q "^$2:"; }

wire_up plain
mkdir -p "$TMP/in"

# ---- interfaces that do not exist, beside one that does
expect load run rcv load "$IF_RCV"
refused status-nosuch 4 "no interface nosuch0" "$xiwarp" status nosuch0
refused unload-nosuch 4 "no interface nosuch0" "$xiwarp" unload nosuch0
refused load-nosuch 4 "no interface nosuch0" "$xiwarp" load nosuch0
expect nosuch-harmless on rcv "$IF_RCV"

# ---- the same name in another network namespace: neither sees, blocks or removes the other's
in_ns snd ip link add "$IF_RCV" type veth peer name "${IF_RCV}x"
in_ns snd ip link set "$IF_RCV" up
refused same-status 4 "not loaded on $IF_RCV" nsenter --net="/run/netns/$(_ns snd)" "$xiwarp" \
	status "$IF_RCV"
refused same-unload 4 "not loaded on $IF_RCV" nsenter --net="/run/netns/$(_ns snd)" "$xiwarp" \
	unload "$IF_RCV"
expect same-stays on rcv "$IF_RCV"
expect same-silent silent_about snd "$IF_RCV"
expect same-load run snd load "$IF_RCV"
expect same-both on snd "$IF_RCV"
expect same-status-own says snd "$IF_RCV: XDP native mode" status
expect same-unload-first run rcv unload "$IF_RCV"
expect same-second-stays on snd "$IF_RCV"
expect same-second-found says snd "$IF_RCV: XDP native mode" status "$IF_RCV"
expect same-first-again run rcv load "$IF_RCV"
expect same-first-plain test -e "$pins/xiw_ingress"
expect same-unload-second run snd unload "$IF_RCV"
expect same-first-stays on rcv "$IF_RCV"
expect same-last run rcv unload "$IF_RCV"
# Pins without a note about their namespace, as stock tools make them, may belong to another namespace.
expect unmarked-load run rcv load "$IF_RCV"
rm "$pins/network-namespace"
refused unmarked-unload 5 "another network namespace" nsenter --net="/run/netns/$(_ns snd)" \
	"$xiwarp" unload "$IF_RCV"
refused unmarked-replace 5 "another network namespace" nsenter --net="/run/netns/$(_ns snd)" \
	"$xiwarp" load --replace "$IF_RCV"
expect unmarked-stays test -e "$pins/xiw_ingress"
expect unmarked-own run rcv unload "$IF_RCV"
in_ns snd ip link del "$IF_RCV"

# ---- mount namespaces: pins that end with the command are refused; programs without pins can be taken off
refused netns-exec-load 6 "nsenter --net" ip netns exec "$(_ns rcv)" "$xiwarp" load "$IF_RCV"
expect netns-exec-off off rcv "$IF_RCV"
refused netns-exec-shell 6 "nsenter --net" ip netns exec "$(_ns rcv)" sh \
	-c '"$0" load "$1"; exit $?' "$xiwarp" "$IF_RCV"
expect hidden-load run rcv load "$IF_RCV"
refused netns-exec-status 4 "nsenter --net" ip netns exec "$(_ns rcv)" "$xiwarp" status "$IF_RCV"
refused netns-exec-status-all 4 "nsenter --net" ip netns exec "$(_ns rcv)" "$xiwarp" status
refused netns-exec-unload 4 "nsenter --net" ip netns exec "$(_ns rcv)" "$xiwarp" unload "$IF_RCV"
refused netns-exec-serve 4 "nsenter --net" ip netns exec "$(_ns rcv)" "$xiwarp" serve \
	--path direct --listen $V4_RCV "$TMP/in"
expect hidden-stays on rcv "$IF_RCV"
rm -r "$pins"
refused lost-status 4 "xiwarp unload $IF_RCV" "$xiwarp" status "$IF_RCV"
if kernel_has 6 6; then
	# xiw_egress has gone with its link: what XDP still runs is of no use to anybody.
	expect lost-load run rcv load "$IF_RCV"
	expect lost-on on rcv "$IF_RCV"
	rm -r "$pins"
else
	refused lost-load 5 "xiwarp unload $IF_RCV" "$xiwarp" load "$IF_RCV"
fi
expect lost-unload run rcv unload "$IF_RCV"
expect lost-off off rcv "$IF_RCV"

# ---- a name with a dot
in_ns rcv ip link add "$dotted" type veth peer name "${IF_RCV}y"
in_ns rcv ip addr add 10.88.0.2/24 dev "$dotted"
in_ns rcv ip link set "$dotted" up
expect dot-load run rcv load "$dotted"
expect dot-pins test -e "$dotted_pins/xiw_ingress"
expect dot-on on rcv "$dotted"
expect dot-status says rcv "$dotted: XDP native mode" status
expect dot-status-one says rcv "$dotted: XDP native mode" status "$dotted"
spawn server rcv serve.log "$xiwarp" serve --path direct --listen 10.88.0.2 "$TMP/in"
wait_listen rcv 15044
expect dot-serve kill -0 "$server"
stop "$server"
expect dot-unload run rcv unload "$dotted"
expect dot-off off rcv "$dotted"
expect dot-no-pins test ! -e "$dotted_pins"
refused dot-in-pin-dir 2 "takes no dot" "$xiwarp" load "$IF_RCV" --pin-dir "/sys/fs/bpf/xiw.$$"
in_ns rcv ip link del "$dotted"
# A process that has the capability is not told that it is missing.
mkdir -m 700 "$TMP/ro"
mount -t bpf -o ro bpf "$TMP/ro"
read_only() { in_ns rcv "$xiwarp" load "$IF_RCV" --pin-dir "$TMP/ro/x" 2>&1 | tee "$TMP/err" |
	grep -q "Read-only"; }
expect no-blame read_only
umount "$TMP/ro"

# ---- a port of a bridge: what order the kernel wants
in_ns rcv ip link add "${IF_RCV}b" type bridge
in_ns rcv ip link add "${IF_RCV}p" type veth peer name "${IF_RCV}y"
in_ns rcv ip link set "${IF_RCV}p" master "${IF_RCV}b"
expect bridge-load-port run rcv load "${IF_RCV}p"
expect bridge-load run rcv load "${IF_RCV}b"
refused bridge-unload 5 "'xiwarp unload ${IF_RCV}b' first" "$xiwarp" unload "${IF_RCV}p"
expect bridge-stays on rcv "${IF_RCV}p"
expect bridge-first run rcv unload "${IF_RCV}b"
expect bridge-then run rcv unload "${IF_RCV}p"
expect bridge-again run rcv load "${IF_RCV}b"
refused bridge-load-below 5 "'xiwarp unload ${IF_RCV}b'" "$xiwarp" load "${IF_RCV}p"
expect bridge-last run rcv unload "${IF_RCV}b"
in_ns rcv ip link del "${IF_RCV}b"
in_ns rcv ip link del "${IF_RCV}p"

# ---- the recipe of xiwarp(7), word for word, and again after an unload
recipe() {
	sed -n '/^d=.sys.fs.bpf/,/^tc filter/p' "$ROOT/tools/xiwarp/xiwarp.7" |
		sed "s/\\\\//g; s/eth0/$IF_RCV/g; s|/usr/local/lib/bpf|$BUILD/bpf|" >"$TMP/recipe"
	[[ -s $TMP/recipe ]] && in_ns rcv sh -e "$TMP/recipe"
}
for i in 1 2; do
	expect "recipe-$i" recipe
	expect "recipe-$i-on" on rcv "$IF_RCV"
	expect "recipe-$i-status" says rcv "$IF_RCV: XDP native mode, MTU" status
	expect "recipe-$i-unload" run rcv unload "$IF_RCV"
	expect "recipe-$i-off" off rcv "$IF_RCV"
done
# With half of the recipe, status and the receiver say which program is missing.
expect half recipe
in_ns rcv tc filter del dev "$IF_RCV" egress
expect half-status says rcv "no TC program" status
for where in $V4_RCV ""; do
	refused "half-serve-${where:-any}" 4 "xiw_egress is not attached to $IF_RCV" "$xiwarp" \
		serve --path direct --listen "$where" "$TMP/in"
done
expect half-unload run rcv unload "$IF_RCV"
expect half-off off rcv "$IF_RCV"

# ---- killed in the middle, at the N-th message to the kernel: one unload clears up, and the next load works
for n in 1 2 3 4 5 6; do
	for c in load unload; do
		in_ns rcv "${traced[@]}" -o /dev/null -e trace=sendto \
			-e "inject=sendto:signal=KILL:when=$n" "$xiwarp" $c \
			"$IF_RCV" >"$TMP/out" 2>&1
		run rcv load "$IF_RCV" >"$TMP/out" 2>&1 ||
			run rcv unload "$IF_RCV" >>"$TMP/out" 2>&1
		off rcv "$IF_RCV" && run rcv load "$IF_RCV" >>"$TMP/out" 2>&1
		expect "killed-$c-$n-load" on rcv "$IF_RCV"
		[[ $c == unload ]] && run rcv unload "$IF_RCV" >>"$TMP/out" 2>&1
	done
done
expect killed-off off rcv "$IF_RCV"
expect killed-no-pins test ! -e "$pins"

# ---- with connections: a receiver in a PID namespace of its own
direct() { run rcv status --json "$IF_RCV" 2>/dev/null |
	grep -Eq '"path":"direct",.*"skew":[1-9]'; }
# transfer NAME PREFIX...: a large file is on its way over the direct path, and the sender waits.
transfer() {
	local name=$1
	shift
	rm -f "$TMP/in/sparse"
	spawn server rcv serve.log "$@" "$xiwarp" serve --path direct --json --listen $V4_RCV \
		"$TMP/in"
	wait_listen rcv 15044
	spawn sender snd put.log "$xiwarp" put "$TMP/sparse" $V4_RCV
	held() {
		kill -STOP "$sender"
		sleep 0.1
		direct || { kill -CONT "$sender"; return 1; }
	}
	wait_until 10 held && pass "$name" || fail "$name" "$(cat "$TMP"/*.log)"
}
arrived() { # NAME: the file, and the end of the receiver
	local rc
	kill -CONT "$sender"
	reap "$sender" 60
	rc=$?
	((rc == 0)) && pass "$1" || fail "$1" "exit code $rc: $(cat "$TMP"/*.log)"
}
receiver() { pgrep -P "$server"; }
# unshare ignores signals and ends with its child.
leave() {
	kill -TERM "$(receiver)"
	reap "$server" 10
	(($? != 124)) || stop "$server" KILL
}
truncate -s 512M "$TMP/sparse"
expect pid-load run rcv load "$IF_RCV"
transfer pid-direct unshare --pid --fork --kill-child
refused pid-unload 5 "1 connection on $IF_RCV needs" "$xiwarp" unload "$IF_RCV"
expect pid-stays on rcv "$IF_RCV"
# The same without pins, which only tell where the table of flows is.
rm -r "$pins"
refused pid-unload-unpinned 5 "1 connection on $IF_RCV needs" "$xiwarp" unload "$IF_RCV"
expect pid-stays-unpinned on rcv "$IF_RCV"
arrived pid-arrives
leave
expect pid-unload-then run rcv unload "$IF_RCV"
expect pid-off off rcv "$IF_RCV"

# ---- time namespaces: the watchdog fires when the receiver stands still, and only then
watchdog() { run rcv status --json "$IF_RCV" | sed -n 's/.*"watchdog":\([0-9]*\).*/\1/p' |
	head -n 1; }
fired() { (($(watchdog) > $1)); }
uptime=$(cut -d. -f1 /proc/uptime)
# beats: the receiver's last sign of life for the watchdog is recent, by the clock of BPF programs.
beats() {
	local beat now
	beat=$(bpftool map lookup pinned "$pins/xiw_queues" key 0 0 0 0 |
		sed -n 's/.*"beat_ns": \([0-9]*\).*/\1/p')
	now=$(cut -d. -f1 /proc/uptime)
	((beat / 1000000000 > now - uptime / 4 && beat / 1000000000 < now + uptime / 4))
}
for lead in -$((uptime / 2)) $((uptime / 2)); do
	name=time-behind
	((lead > 0)) && name=time-ahead
	expect "$name-load" run rcv load "$IF_RCV"
	transfer "$name-direct" unshare --time --monotonic "$lead" --fork --kill-child
	expect "$name-beats" beats
	kill -STOP "$(receiver)"
	kill -CONT "$sender"
	expect "$name-watchdog" wait_until 10 fired 0
	kill -CONT "$(receiver)"
	arrived "$name-arrives"
	leave
	expect "$name-unload" run rcv unload "$IF_RCV"
done

# Standard output of --json is JSON, with --verbose, too.
spawn rping rcv rping-server "$xiwarp" rping -s --path kernel
wait_listen rcv 7174 || fail rping "$(cat "$TMP/rping-server")"
in_ns rcv "$xiwarp" rping -c -a 127.0.0.1 -C 3 -v --json --path kernel >"$TMP/json" 2>"$TMP/err"
expect rping-json-only eval '! grep -v "^{" "$TMP/json"'
expect rping-json-verbose [ "$(grep -c "^ping data: " "$TMP/err")" = 3 ]
stop "$rping"
finish
