#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# xiwarp load, unload, status on real interfaces: what is attached, what is pinned, and that every refusal
# has its exit code, one line, and leaves nothing behind. timeout: 120
. "${0%/*}/../lib/lib.sh"

xiwarp=$BUILD/xiwarp
pins=/sys/fs/bpf/xiwarp/$IF_RCV

xdp_of() { in_ns rcv ip -d link show dev "$1" | sed -n 's/.*prog\/xdp id \([0-9]*\).*/\1/p'; }
tc_of() { egress_of rcv "$1"; }

attached() {
	[[ -n $(xdp_of "$IF_RCV") && $(tc_of "$IF_RCV") == 1 ]]
}

bare() {
	[[ -z $(xdp_of "$IF_RCV") && $(tc_of "$IF_RCV") == 0 && ! -e $pins ]]
}

pinned() {
	local name
	for name in xiw_ingress xiw_egress xiw_flows xiw_taken xiw_flow_index xiw_queues \
		xiw_xsks xiw_obstacles xiw_stats; do
		[[ -e $pins/$name ]] || return
	done
	[[ $(stat -c %a "$pins") == 700 ]]
}

bpftool_says() { in_ns rcv bpftool map show pinned "$pins/$2" | grep -q "$1"; }
whole() { { attached && pinned; } || bare; }
load() { in_ns rcv "$xiwarp" load "$@"; }
unload() { in_ns rcv "$xiwarp" unload "$@"; }
json() { in_ns rcv "$xiwarp" status --json "$@" 2>"$TMP/err"; }
mode_is() { json "$IF_RCV" | grep -q "\"mode\":\"$1\""; }

# Another XDP program, which belongs to somebody else.
other_xdp() {
	in_ns rcv bpftool prog load "$BUILD/tests/net/lib/wire.bpf.o" "$TMP_PIN" type xdp &&
		in_ns rcv bpftool net attach "$1" pinned "$TMP_PIN" dev "$IF_RCV"
}
other_stays() { [[ $(xdp_of "$IF_RCV") == "$other" ]]; }

ping_through() { in_ns snd ping -q -c 2 -i 0.1 -W 2 "$1"; }

wire_up plain
TMP_PIN=/sys/fs/bpf/xiw-wire-$$

# ---- the ordinary way
expect load load "$IF_RCV"
expect load-attached attached
expect load-pinned pinned
expect load-native mode_is native
expect load-passes-v4 ping_through $V4_RCV
expect load-passes-v6 ping_through $V6_RCV
json "$IF_RCV" >"$TMP/status"
expect status-counts grep -Eq '"other":[1-9]' "$TMP/status"
expect status-no-flows grep -q '"flows":\[\]' "$TMP/status"
expect status-all sh \
	-c "nsenter --net=/run/netns/$(_ns rcv) '$xiwarp' status | grep -q '^$IF_RCV: XDP native'"
refused load-twice 5 "loaded on $IF_RCV already" "$xiwarp" load "$IF_RCV"
expect load-twice-harmless attached
expect unload unload "$IF_RCV"
expect unload-bare bare
refused unload-twice 4 "not loaded on $IF_RCV" "$xiwarp" unload "$IF_RCV"
refused status-not-loaded 4 "xiwarp load $IF_RCV" "$xiwarp" status "$IF_RCV"

# ---- by an alternative name: its pins are the interface's
if in_ns rcv ip link property add dev "$IF_RCV" altname "alt$$" 2>/dev/null; then
	expect altname-load load "alt$$"
	expect altname-attached attached
	expect altname-pinned pinned
	json "alt$$" >"$TMP/status"
	expect altname-status grep -q "\"interface\":\"$IF_RCV\"" "$TMP/status"
	refused altname-loaded 5 "loaded on $IF_RCV already" "$xiwarp" load "alt$$"
	in_ns rcv "$xiwarp" run --if "alt$$" --path direct true >"$TMP/out" 2>&1
	expect altname-run [ $? == 0 ]
	expect altname-unload unload "alt$$"
	expect altname-bare bare
	in_ns rcv ip link property del dev "$IF_RCV" altname "alt$$"
else
	skip altname "no alternative names here"
fi

# ---- renamed: its programs go with its pins, whoever has the name now
rename() { in_ns rcv ip link set "$1" down && in_ns rcv ip link set "$1" name "$2" &&
	in_ns rcv ip link set "$2" up; }
expect renamed-load load "$IF_RCV"
rename "$IF_RCV" "new$$"
expect renamed-status eval 'in_ns rcv "$xiwarp" status |
	grep -q "^new$$ was renamed since it was loaded; $IF_RCV: XDP native mode, MTU 1500"'
expect renamed-unload unload "$IF_RCV"
expect renamed-detached [ -z "$(xdp_of "new$$")$(tc_of "new$$" | grep -v 0)" ]
expect renamed-pins-gone test ! -e "$pins"
unload "new$$" >"$TMP/out" 2>&1
rename "new$$" "$IF_RCV"
expect renamed-back load "$IF_RCV"
rename "$IF_RCV" "new$$"
in_ns rcv ip link add "$IF_RCV" type dummy
expect renamed-other-unload unload "$IF_RCV"
expect renamed-other-detached [ -z "$(xdp_of "new$$")$(tc_of "new$$" | grep -v 0)" ]
unload "new$$" >"$TMP/out" 2>&1
in_ns rcv ip link del "$IF_RCV"
rename "new$$" "$IF_RCV"
in_ns rcv ip addr add "$V6_RCV/64" dev "$IF_RCV" nodad
expect renamed-bare bare

# ---- the kernel does not say what is attached: the pins stay
expect unsaid-load load "$IF_RCV"
unsaid() { # COMMAND... that is to fail
	in_ns rcv "${traced[@]}" -f -o /dev/null "$@" "$xiwarp" unload "$IF_RCV" >"$TMP/out" 2>&1
	(($? == 1)) && [[ -e $pins/xiw_ingress ]]
}
expect unsaid-xdp unsaid -e trace=sendto -e inject=sendto:error=ENOMEM
# A failure of the system has exit code 1, whichever number it has.
for n in ENOBUFS:{2,3,4,5,6} EINVAL:{3,4,6} ENOENT:{3,4,6}; do
	in_ns rcv "${traced[@]}" -f -o "$TMP/out" -e trace=sendto \
		-e "inject=sendto:error=${n%:*}:when=${n#*:}" "$xiwarp" unload "$IF_RCV" 2>/dev/null
	code=$?
	expect "unsaid-$n" eval '((code <= 1)) && { [[ -e $pins/xiw_ingress ]] || bare; }'
	whole || unload "$IF_RCV" >"$TMP/out" 2>&1
	attached || load "$IF_RCV" >"$TMP/out" 2>&1
done
expect unsaid-unload unload "$IF_RCV"
expect unsaid-bare bare

# ---- interrupted: all of it is there or nothing; strace sends the signal with the N-th message to the kernel
interrupted() { # COMMAND N
	in_ns rcv "${traced[@]}" -o /dev/null -e trace=sendto \
		-e "inject=sendto:signal=INT:when=$2" "$xiwarp" "$1" "$IF_RCV" >"$TMP/out" 2>&1
	expect "interrupted-$1-$2" whole
}
for n in 2 3 4; do
	interrupted load "$n"
	interrupted unload "$n"
	bare || unload "$IF_RCV" >"$TMP/out" 2>&1
done

# ---- killed: status and load name cause and remedy, and unload removes what is left; so does load, if nothing runs
killed() { # CALL N WORDS OF STATUS [stays]
	in_ns rcv "${traced[@]}" -o /dev/null -e "trace=$1" -e "inject=$1:signal=KILL:when=$2" \
		"$xiwarp" load "$IF_RCV" >"$TMP/out" 2>&1
	in_ns rcv "$xiwarp" status "$IF_RCV" >"$TMP/out" 2>&1
	expect "killed-status-$1-$2" grep -q "$3.*: .*unload.*load again" "$TMP/out"
	in_ns rcv "$xiwarp" status >"$TMP/out" 2>&1
	expect "killed-status-all-$1-$2" grep -q "$IF_RCV.*$3.*: .*unload.*load again" "$TMP/out"
	if [[ ${4:-} ]]; then
		refused "killed-load-$1-$2" 5 "unload $IF_RCV" "$xiwarp" load "$IF_RCV"
	else
		expect "killed-load-$1-$2" load "$IF_RCV"
	fi
	expect "killed-unload-$1-$2" unload "$IF_RCV"
}
killed symlink 1 "a load that was killed leaves them" stays
killed bpf 40 "a load that was killed leaves them"
killed sendto 3 "no program is attached"
kernel_has 6 6 || killed sendto 4 "no TC program" stays # by tcx it is a call of bpf(2)

# ---- at the same time: one of them after the other, and what is attached has pins. The first one is slow
slow=("${traced[@]}" -f -o /dev/null -e trace=bpf -e inject=bpf:delay_enter=4000)
together() { # COMMAND OF THE OTHER
	local pid
	spawn pid rcv slow "${slow[@]}" "$xiwarp" load --replace "$IF_RCV"
	wait_until 5 test -e "$pins"
	in_ns rcv "$xiwarp" "$@" "$IF_RCV"
	reap "$pid" 20
	whole
}
expect together-loads together load --replace
expect together-loads-one attached
unload "$IF_RCV" >"$TMP/out" 2>&1
expect together-unload together unload
bare || unload "$IF_RCV" >"$TMP/out" 2>&1
# Whoever has the lock for ever is told of. Nobody has it who may only open what is above, or a directory for all.
held_by() { # DIRECTORY: the programs can be loaded and unloaded while another process locks it
	local holder rc
	spawn holder host holder flock -F -x "$1" sleep 60
	wait_until 5 sh -c "! flock -n '$1' true"
	in_ns rcv "$xiwarp" load "$IF_RCV" --pin-dir "$TMP/bpf/xiwarp" &&
		in_ns rcv "$xiwarp" unload "$IF_RCV" --pin-dir "$TMP/bpf/xiwarp"
	rc=$?
	stop "$holder"
	return "$rc"
}
mkdir "$TMP/bpf"
mount -t bpf -o mode=1755 none "$TMP/bpf" || fail lock-mount "exit code $?"
expect lock-above held_by "$TMP/bpf"
mkdir -m 755 "$TMP/bpf/xiwarp"
expect lock-for-all held_by "$TMP/bpf/xiwarp"
mkdir -m 700 "$TMP/bpf/xiwarp"
spawn holder host holder flock -F -x "$TMP/bpf/xiwarp" sleep 60
wait_until 5 sh -c "! flock -n '$TMP/bpf/xiwarp' true"
refused lock-held 5 "lslocks" "$xiwarp" load "$IF_RCV" --pin-dir "$TMP/bpf/xiwarp"
stop "$holder"
umount "$TMP/bpf"
expect lock-held-bare bare

# ---- modes and MTU
expect generic load "$IF_RCV" --mode generic
expect generic-mode mode_is generic
expect generic-passes ping_through $V4_RCV
expect generic-unload unload "$IF_RCV"
expect generic-bare bare
in_ns rcv ip link add xiwd0 type bridge
refused native-refused 6 "--mode generic" "$xiwarp" load xiwd0 --mode native
expect auto-falls-back load xiwd0
expect auto-unload unload xiwd0
# Segments in packets of segment routing would pass XDP by.
unwraps() { # SETTING VALUE
	set_sysctl rcv "net.ipv6.conf.all.$1" "$2" && set_sysctl rcv "net.ipv6.conf.xiwd0.$1" "$2"
}
for setting in seg6_enabled rpl_seg_enabled; do
	if ! unwraps $setting 1; then
		skip "$setting" "no sysctl net.ipv6.conf.all.$setting"
		continue
	fi
	refused "$setting" 6 "$setting=0" "$xiwarp" load xiwd0
	expect "$setting-off" unwraps $setting 0
done
in_ns rcv ip link del xiwd0
in_ns rcv ip link set "$IF_RCV" mtu 9000
in_ns snd ip link set "$IF_SND" mtu 9000
expect mtu-9000 load "$IF_RCV" --mode native
expect mtu-9000-unload unload "$IF_RCV"
in_ns rcv ip link set "$IF_RCV" mtu 1500
in_ns snd ip link set "$IF_SND" mtu 1500

# ---- refusals
refused no-interface 4 "no interface nosuch0" "$xiwarp" load nosuch0
refused no-privilege 3 "CAP_NET_ADMIN" setpriv --reuid=65534 --regid=65534 --clear-groups \
	"$xiwarp" load "$IF_RCV"
refused only-net-admin 3 "CAP_BPF" setpriv --bounding-set=-all,+net_admin,+dac_override \
	--inh-caps=-all,+net_admin,+dac_override "$xiwarp" load "$IF_RCV"
refused not-bpffs 6 "BPF file system" "$xiwarp" load "$IF_RCV" --pin-dir "$TMP/pins"
expect refusals-bare bare
printf -v long '/%0600d' 0
refused load-long-pin-dir 2 "too long" "$xiwarp" load "$IF_RCV" --pin-dir "$long"
refused unload-long-pin-dir 2 "too long" "$xiwarp" unload "$IF_RCV" --pin-dir "$long"
mkdir "$TMP/in"
refused serve-long-pin-dir 2 "too long" "$xiwarp" serve --pin-dir "$long" "$TMP/in"
# A receiver finds a directory of pins with the longest name that load takes.
printf -v long '/sys/fs/bpf/xiw-%d/%0100d' $$ 0
printf -v long '%s/%0200d/%0*d' "$long" 0 $((432 - ${#long} - 202)) 0
serves() { in_ns rcv timeout --preserve-status -s TERM 1 "$xiwarp" serve --path direct \
	--pin-dir "$1" "$TMP/in"; (($? == 143)); }
expect longest-pin-dir load "$IF_RCV" --pin-dir "$long"
expect longest-pin-dir-found serves "$long"
expect longest-pin-dir-unload unload "$IF_RCV" --pin-dir "$long"
refused longer-pin-dir 2 "too long" "$xiwarp" load "$IF_RCV" --pin-dir "${long}x"
refused serve-longer-pin-dir 2 "too long" "$xiwarp" serve --pin-dir "${long}x" "$TMP/in"
rmdir -p "${long%/*}" 2>/dev/null
mkdir -m 700 "$TMP/other-names" "$TMP/other-names/no-interface-has-this-name" \
	"$TMP/other-names/nosuch0"
: >"$TMP/other-names/file"
expect status-other-names json --pin-dir "$TMP/other-names"
expect status-other-names-quiet [ ! -s "$TMP/err" ]
mkdir -p "$pins"
refused stale-pins 5 "unload $IF_RCV" "$xiwarp" load "$IF_RCV"
expect stale-unload unload "$IF_RCV"
expect stale-bare bare

refused direct-not-loaded 4 "xiwarp load IF" "$xiwarp" serve --path direct "$TMP/in"

# ---- attached with stock tools, as xiwarp(7) has it; and where tc itself would have put xiw_egress
stock() { # OPTION...: of the filter
	in_ns rcv tc qdisc replace dev "$IF_RCV" clsact &&
		in_ns rcv bpftool prog loadall "$BUILD/bpf/xiwarp.bpf.o" "$pins" pinmaps "$pins" &&
		in_ns rcv bpftool net attach xdpdrv pinned "$pins/xiw_ingress" dev "$IF_RCV" &&
		in_ns rcv tc filter add dev "$IF_RCV" egress "$@" bpf direct-action pinned \
		"$pins/xiw_egress"
}
has_both() { in_ns rcv "$xiwarp" status | grep -q "^$IF_RCV: XDP native mode, MTU"; }
mkdir -m 700 -p "$pins"
expect stock stock prio 10 handle 1
expect stock-status has_both
expect stock-unload unload "$IF_RCV"
expect stock-bare bare
mkdir -m 700 -p "$pins"
expect elsewhere stock
expect elsewhere-status has_both
refused elsewhere-busy 5 "xiw_egress where xiwarp did not put it" "$xiwarp" unload "$IF_RCV"
expect elsewhere-stays attached
in_ns rcv tc filter del dev "$IF_RCV" egress
expect elsewhere-unload unload "$IF_RCV"
expect elsewhere-bare bare

# ---- another program
expect other-attach other_xdp xdpdrv
other=$(xdp_of "$IF_RCV")
refused other-busy 5 "id $other" "$xiwarp" load "$IF_RCV"
expect other-stays other_stays
refused other-unload 4 "not loaded" "$xiwarp" unload "$IF_RCV"
expect other-still other_stays
# Nor is it taken for xiwarp's by a process that sees no BPF file system, but may ask for its name.
no_bpffs() {
	in_ns rcv unshare -m -p -f --mount-proc sh -c 'umount -l /sys/fs/bpf; exec "$0" status' \
		"$xiwarp" >"$TMP/out" 2>&1
	cat "$TMP/out"
	grep -q "^xiwarp is not loaded on any interface: 'xiwarp load IF'" "$TMP/out"
}
expect other-without-bpffs no_bpffs
expect other-replace load "$IF_RCV" --replace
expect other-replaced attached
# Another program has taken the place: unload must leave it there.
in_ns rcv bpftool net detach xdpdrv dev "$IF_RCV"
in_ns rcv bpftool net attach xdpdrv pinned "$TMP_PIN" dev "$IF_RCV"
expect foreign-unload unload "$IF_RCV"
expect foreign-stays other_stays
expect foreign-pins-gone test ! -e "$pins"

# Pins whose programs run nowhere, as when the interface was made anew, are replaced by one load.
expect left-over-load load "$IF_RCV" --replace
in_ns rcv bpftool net detach xdpdrv dev "$IF_RCV"
egress_off rcv "$IF_RCV"
expect left-over-pins test -e "$pins"
expect left-over-load-again load "$IF_RCV"
expect left-over-attached attached
expect left-over-unload unload "$IF_RCV"
in_ns rcv tc qdisc del dev "$IF_RCV" clsact 2>/dev/null
in_ns rcv bpftool net attach xdpdrv pinned "$TMP_PIN" dev "$IF_RCV"
expect left-over-other other_stays

# A failure after the XDP program was attached must restore the other program. Without tcx, the qdisc `ingress` accepts
# filters for egress, and runs them on ingress. With tcx, that qdisc is no hindrance, and none is left behind.
in_ns rcv tc qdisc del dev "$IF_RCV" clsact 2>/dev/null
expect ingress in_ns rcv tc qdisc add dev "$IF_RCV" ingress
if kernel_has 6 6; then
	expect beside-ingress load "$IF_RCV" --replace
	expect beside-ingress-attached attached
	expect beside-ingress-unload unload "$IF_RCV"
else
	refused rollback 5 "qdisc ingress" "$xiwarp" load "$IF_RCV" --replace
	expect rollback-other-back other_stays
	expect rollback-pins-gone test ! -e "$pins"
	in_ns rcv bpftool net detach xdpdrv dev "$IF_RCV"
fi
in_ns rcv tc qdisc del dev "$IF_RCV" ingress
rm -f "$TMP_PIN"
expect end-bare bare

# ---- with connections
# transfer NAME: a large file is on its way over the direct path.
transfer() {
	mkdir -p "$TMP/in"
	spawn server rcv serve.log "$xiwarp" serve --path direct --force --listen $V4_RCV "$TMP/in"
	wait_listen rcv 15044
	spawn sender snd put.log "$xiwarp" put "$TMP/sparse" $V4_RCV
	if wait_until 10 direct; then
		pass "$1"
	else
		fail "$1" "$(cat "$TMP"/*.log)"
	fi
}
direct() { json "$IF_RCV" | grep \
	-Eq '"path":"direct","epoch":[1-9][0-9]*,"rcv_nxt":[0-9]+,"skew":[1-9]'; }
# A lost segment can take a connection off the direct path for a moment, so this is asked repeatedly as well.
table_direct() { in_ns rcv "$xiwarp" status "$IF_RCV" | grep -q '^ *path  *direct, epoch'; }
no_flow() { json "$IF_RCV" | grep -q '"flows":\[\]'; }
ended() { # NAME PID CODE [CODE]
	local rc
	reap "$2" 60
	rc=$?
	if ((rc == $3 || rc == ${4:-$3})); then
		pass "$1"
	else
		fail "$1" "exit code $rc, not $3: $(cat "$TMP"/*.log)"
	fi
}

server= sender=
truncate -s 1G "$TMP/sparse"
expect flows-load load "$IF_RCV" || finish
transfer flows-direct
# The file must not have arrived before the commands are done, however long they take. A loss may have moved the
# connection to the kernel path meanwhile.
held() {
	kill -STOP "$sender"
	sleep 0.1
	direct || { kill -CONT "$sender"; return 1; }
}
expect flows-held wait_until 10 held
json "$IF_RCV" >"$TMP/status"
expect flows-addresses grep \
	-Eq "\"local\":\"$V4_RCV:15044\",\"remote\":\"$V4_SND:[0-9]+\",\"pid\":$server," \
	"$TMP/status"
expect flows-octets grep -Eq '"octets_direct":[1-9]' "$TMP/status"
expect flows-table wait_until 10 table_direct
refused flows-busy 5 "1 connection on $IF_RCV needs" "$xiwarp" unload "$IF_RCV"
expect flows-busy-stays attached
kill -CONT "$sender"
ended flows-arrive "$sender" 0
expect flows-octets-equal cmp "$TMP/sparse" "$TMP/in/sparse"
expect flows-none wait_until 5 no_flow
expect flows-unload unload "$IF_RCV"
stop "$server"
expect flows-bare bare

# Forced: that connection breaks, and nothing else.
expect force-load load "$IF_RCV"
transfer force-direct
expect force-unload unload "$IF_RCV" --force
expect force-bare bare
expect force-server-lives kill -0 "$server"
kill -TERM "$sender" "$server"
ended force-sender "$sender" 143 7
ended force-server "$server" 143

# A killed receiver does not prevent unload, and its peer is told.
expect killed-load load "$IF_RCV"
transfer killed-direct
stop "$server" KILL
ended killed-peer-told "$sender" 7
expect killed-unload unload "$IF_RCV"
expect killed-bare bare

# ---- what only other kernels and drivers answer. A driver's answer about its MTU comes by netlink
mkdir -p "$TMP/in"
refused kernel-too-old 6 "6.1 or newer is needed" setarch "$(uname -m)" --uname-2.6 prlimit \
	--nofile=6:6 "$xiwarp" load "$IF_RCV"
# answers SYSCALL ERROR CMD...: sets cmd to CMD with this answer of the kernel.
answers() {
	cmd=("${traced[@]}" -f -o /dev/null -e "trace=$1" -e "inject=$1:error=$2" "${@:3}")
}
answers bpf EPERM "$xiwarp" load "$IF_RCV"
refused bpf-locked-down 3 "refuses to load BPF programs" "${cmd[@]}"
refused bpf-descriptors 1 "raise the limit on open files" prlimit --nofile=8:8 "$xiwarp" load \
	"$IF_RCV"
answers bpf ENOMEM "$xiwarp" load "$IF_RCV"
refused bpf-no-memory 1 "raise the memory limit" "${cmd[@]}"
answers sendto ERANGE "$xiwarp" load "$IF_RCV" --mode native
refused mtu-too-large 6 "$IF_RCV has MTU 1500, more than driver veth takes" "${cmd[@]}"
expect kernel-too-old-bare bare

# ---- what does not stand in the way, and what does
# A slot whose connection is gone does not prevent unload, although a process has its pid: here init, with a
# skew under KERNEL (abi.h), in the first slot of the table.
expect pid-taken-load load "$IF_RCV"
flow=()
for ((i = 0; i < 512; i++)); do flow+=(0); done
flow[0]=1 flow[1]=1 flow[4]=9 flow[420]=1
expect pid-taken-flow in_ns rcv bpftool map update pinned "$pins/xiw_flows" key 0 0 0 0 \
	value "${flow[@]}"
expect pid-taken-index in_ns rcv bpftool map update pinned "$pins/xiw_flow_index" \
	key "${flow[@]:384:36}" value 0 0 0 0
expect pid-taken-unload unload "$IF_RCV"
# The number of flows is chosen at the load: a power of two.
expect flows-many load "$IF_RCV" --flows 65536
json "$IF_RCV" >"$TMP/status"
expect flows-many-status grep -q '"max_flows":65536,' "$TMP/status"
expect flows-many-index bpftool_says 'max_entries 65536' xiw_flow_index
expect flows-many-taken bpftool_says 'max_entries 1024' xiw_taken
expect flows-many-unload unload "$IF_RCV"
expect flows-some load "$IF_RCV" --flows 1000
json "$IF_RCV" >"$TMP/status"
expect flows-some-status grep -q '"max_flows":1024,' "$TMP/status"
expect flows-some-unload unload "$IF_RCV"
refused flows-too-many 2 "64 to 65536" "$xiwarp" load "$IF_RCV" --flows 65537
# Programs of another version, whose other maps are as large as this one's, or of one that did not say which it is.
expect other-version load "$IF_RCV"
rm "$pins/xiw_abi"
refused no-version-direct 1 "another version" "$xiwarp" serve --path direct "$TMP/in"
in_ns rcv bpftool map create "$pins/xiw_abi" type array key 4 value 4 entries 4 name xiw_abi
refused other-version-direct 1 "another version" "$xiwarp" serve --path direct "$TMP/in"
expect other-version-unload unload "$IF_RCV"
# Of two interfaces, one on top of the other, the lower one is loaded first. The upper one may be anywhere.
if in_ns rcv ip link add xiwm0 link "$IF_RCV" type macvlan 2>/dev/null; then
	in_ns rcv ip link set xiwm0 netns "$(_ns snd)"
	expect upper-elsewhere in_ns snd "$xiwarp" load xiwm0
	refused upper-elsewhere-lower 5 "an interface on top of $IF_RCV" "$xiwarp" load "$IF_RCV"
	in_ns snd "$xiwarp" unload xiwm0 >/dev/null
	expect upper-elsewhere-gone load "$IF_RCV"
	unload "$IF_RCV" >/dev/null
	in_ns snd ip link del xiwm0
else
	skip upper-elsewhere "this kernel has no macvlan"
fi
# No direct path on lo, where injected segments arrive, whatever addresses it has, nor where there is no Ethernet.
refused lo 6 "not on lo, where segments for sockets are injected" "$xiwarp" load lo
refused lo-direct 6 "use an address of another interface" "$xiwarp" serve \
	--path direct --listen 127.0.0.1 "$TMP"
in_ns rcv ip tuntap add xiwd0 mode tun &&
	refused no-ethernet-tun 6 "frames of xiwd0 (tun) are none of Ethernet: use the" \
		"$xiwarp" load xiwd0
in_ns rcv ip link del xiwd0
in_ns rcv ip tuntap add xiwd0 mode tap && expect ethernet-tap load xiwd0 && unload xiwd0 >/dev/null
in_ns rcv ip link del xiwd0
finish
