#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 240
#
# Who may do what: Debian's programs, unmodified, by the kernel path as a user without privilege, and by the direct path
# with the capabilities that README's service has, given as ambient ones. Both ends are the same user.
#
# The script runs in a mount namespace of its own, where a new BPF file system replaces that of the host.
if [[ -z ${XIW_UNSHARED:-} && $EUID == 0 ]]; then
	XIW_UNSHARED=1 exec unshare --mount --propagation unchanged -- bash "$0"
fi
. "${0%/*}/../lib/lib.sh"
. "${0%/*}/programs.sh"

_mount_bpffs
if ! mount --make-private /sys/fs/bpf || ! mount -t bpf -o mode=700 bpf /sys/fs/bpf; then
	fail bpffs "cannot be mounted" # and the host's is not ours to empty
	finish
fi
# Copies, because other users may have no access to the build directory.
install -m 755 "$BUILD"/{xiwarp,libxiw-verbs.so,libxiw-trace.so} "$TMP"
xiwarp=$TMP/xiwarp
chmod 755 "$TMP"

# user CAPS: from now on programs are run by an ordinary user with exactly these, as setpriv writes them.
user() {
	as=(prlimit "--memlock=${memlock:-8388608}" setpriv --reuid=65534 --regid=65534
		--clear-groups "--inh-caps=-all$1" "--ambient-caps=-all$1"
		"--bounding-set=-all$1")
}

# told NAME WORDS: server and client have received all by the kernel path, and say why.
told() {
	local log
	for log in server client; do
		expect "$1-$log-says" grep -E "xiwarp: .* 0\.0 % by the direct path; .*$2" \
			"$TMP/$log"
	done
}

rping() {
	both "$1-rping" "rping -s -a 0.0.0.0 -p 7174 -V -S 65000 -C 20" 7174 \
		"rping -c -a $V4_RCV -p 7174 -V -S 65000 -C 20"
}
bandwidth() {
	both "$1-ib_write_bw" "ib_write_bw -R -F -n 100 -s 65536" 18515 \
		"ib_write_bw -R -F -n 100 -s 65536 $V4_RCV"
}

wire_up plain 1500 1 || exit 1
wire_clamp 262144
service=$(sed -n 's/^AmbientCapabilities=//p' "$ROOT/README.md" | tr '[:upper:]' '[:lower:]')
caps=${service//cap_/,+}
caps=${caps// /}
expect service [ -n "$service" ]

# ---- programs that are not loaded, and programs that this user may not use
user ""
least=0
rping bare
told bare "CAP_DAC_OVERRIDE is missing"
user "$caps"
rping unloaded
told unloaded "xiwarp is not loaded"
user ""
load_both || exit 1
rping none
told none "is missing"
bandwidth none

# ---- the service's capabilities, and each of them
least=95
user "$caps"
rping service
bandwidth service
least=0
for cap in $service; do
	user "${caps/,+${cap#cap_}/}"
	rping "without-$cap"
	told "without-$cap" "${cap^^} is missing"
	[[ $cap != cap_ipc_lock ]] || expect memlock-said grep -F \
		"(17 MiB; user 65534's memlock is 8 in all)" "$TMP/server"
done
# A ring of io_uring finds no memory then.
memlock=16384 user ""
rping memlock-none
expect memlock-none-says grep -q "; ring epoll (" "$TMP/server"

# ---- without cap_dac_override, as the pins are the user's; and without cap_ipc_lock, where the limit can be raised
least=95
chown -R 65534:65534 "/sys/fs/bpf/xiwarp/$IF_RCV" "/sys/fs/bpf/xiwarp/$IF_SND"
chmod 711 /sys/fs/bpf /sys/fs/bpf/xiwarp
user ",+net_admin,+net_raw,+ipc_lock"
rping given
bandwidth given
if prlimit --memlock=33554432 true 2>/dev/null; then
	memlock=33554432 user ",+net_admin,+net_raw"
	rping memlock
else
	skip memlock "the memlock limit cannot be raised"
fi

# ---- into a program that has its file's capabilities or user nothing is preloaded
user ",+net_raw"
cp "$(type -P rping)" "$TMP/rping"
chmod 755 "$TMP/rping"
not_preloaded() {
	in_ns rcv timeout 10 "${as[@]}" "$xiwarp" run --trace -- "$TMP/rping" -s -C 1 \
		>"$TMP/out" 2>&1
	cat "$TMP/out"
	[[ $(<"$TMP/out") == "No RDMA devices were detected" ]]
}
if type setcap >/dev/null 2>&1 && setcap cap_net_raw+ep "$TMP/rping" 2>/dev/null; then
	expect file-capabilities not_preloaded
	setcap -r "$TMP/rping"
else
	skip file-capabilities "files cannot have capabilities here"
fi
chmod u+s "$TMP/rping"
expect set-user-id not_preloaded
finish
