#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Containers of podman, with Debian's default seccomp profile, which forbids io_uring, and bpf() to all but
# CAP_SYS_ADMIN; or with the same profile as Docker and containerd have it, where CAP_BPF suffices for bpf(). Without
# anything a container receives by the kernel path; with what contrib/kubernetes/pod.yaml says, by the direct path; each
# twice, as after a restart. What is missing is named. Nothing that a container leaves stops the next one.
# timeout: 300
. "${0%/*}/../lib/lib.sh"

xiwarp=$BUILD/xiwarp root=$TMP/container/root pod=$ROOT/contrib/kubernetes/pod.yaml

# The container's root: this machine's, and what is written goes to memory.
make_root() {
	local top=$TMP/container/top
	mkdir -p "$top" "$root"
	mount -t tmpfs tmpfs "$top" && mkdir "$top/"{upper,work} &&
		mount -t overlay overlay "$root" \
			-o "lowerdir=/,upperdir=$top/upper,workdir=$top/work"
}
at_end umount -q "$root" "$TMP/container/top"

# podman with its state in this test's directory. runc also runs under the first version of control groups.
podman=(podman --runtime runc --cgroup-manager cgroupfs --storage-driver vfs
	--root "$TMP/container/storage" --runroot "$TMP/container/run"
	--tmpdir "$TMP/container/tmp")

# container OPTION... -- COMMAND: in the receiver's network namespace. Sets `command`, for spawn or in_ns.
container() {
	local options=()
	while [[ $1 != -- ]]; do
		options+=("$1")
		shift
	done
	shift
	command=("${podman[@]}" run --rm --network "ns:/run/netns/$(_ns rcv)"
		--ulimit nofile=1024:1024 --ulimit nproc=4096:4096 -v "$BUILD:$BUILD:ro"
		"${options[@]}" --rootfs "$root" "$@")
}

# contained OPTION... -- COMMAND: runs it, and keeps what it says in $TMP/out.
contained() {
	container "$@"
	timeout -k 5 60 "${command[@]}" >"$TMP/out" 2>&1
}

# said NAME CODE WORDS OPTION... -- COMMAND: it ends so, and says so in one line.
said() {
	local name=$1 code=$2 words=$3 rc
	shift 3
	contained "$@"
	rc=$?
	if ((rc == code)) && grep -qF -- "$words" "$TMP/out"; then
		pass "$name"
	else
		fail "$name" "exit code $rc: $(cat "$TMP/out")"
	fi
}

# receives NAME DIRECT OPTION... -- COMMAND...: serve, in a container, gets a file; 1: by the direct path.
receives() {
	local name=$1 direct=$2 server rc
	shift 2
	rm -rf "$TMP/in"
	mkdir -m 777 "$TMP/in"
	container -v "$TMP/in:/files" "$@" "$xiwarp" serve --once --json /files
	spawn server host server "${command[@]}"
	if wait_listen rcv 15044 30; then
		in_ns snd timeout -k 5 60 "$xiwarp" put "$TMP/file" $V4_RCV >"$TMP/put" 2>&1
		rc=$?
		reap "$server" 30 || rc=$?
	else
		stop "$server"
		rc=nobody
	fi
	if [[ $rc == 0 ]] && cmp -s "$TMP/file" "$TMP/in/file" &&
		(($(field octets_direct "$TMP/server") > 0 == direct)); then
		pass "$name"
	else
		fail "$name" "$rc: $(cat "$TMP/server" "$TMP/put")"
	fi
}

# capabilities CONTAINER: the options that give what the pod's container of this name has.
capabilities() {
	sed -n "/name: $1\$/,/add:/s/.*add: \[\(.*\)\]/--cap-drop all --cap-add \1/p" "$pod" |
		sed 's/, /,/g'
}

if [[ -z ${XIW_DOWNLOADS:-} ]] || ! type -P podman runc >/dev/null; then
	skip containers "'make programs' installs podman and runc, and runs them"
	finish
	exit
fi
if ! make_root 2>"$TMP/why"; then
	skip containers "no root for a container: $(tail -n 1 "$TMP/why")"
	finish
	exit
fi
wire_up plain
random_file "$TMP/file" 8
if ! contained -- /bin/true; then
	skip containers "podman runs none here: $(tail -n 1 "$TMP/out")"
	finish
	exit
fi

# ---- without anything: io_uring and bpf() are forbidden
for i in 1 2; do
	receives "kernel-path-$i" 0 --
done
receives kernel-path-user 0 --user 65534:65534 --
said kernel-path-ring 0 "ring: epoll (io_uring_setup: " -- "$xiwarp" status
said loads-without 3 "needs CAP_NET_ADMIN" -- "$xiwarp" load "$IF_RCV"

# ---- programs on the interface, and no pins to be seen
in_ns rcv "$xiwarp" load "$IF_RCV" >/dev/null || fail load "exit code $?"
here="$IF_RCV runs XDP, but /sys/fs/bpf is no BPF file system here"
said no-pins-status 4 "/sys/fs/bpf is no BPF file system here" -- "$xiwarp" status
said no-pins-sink 4 "$here" -- "$xiwarp" sink --path direct
said no-pins-run 4 "$here" -- "$xiwarp" run --path direct -- true
receives no-pins 0 --
expect no-pins-told grep -qF "no direct path: $here" "$TMP/server"
in_ns rcv "$xiwarp" unload "$IF_RCV" >/dev/null || fail unload "exit code $?"

# ---- with a BPF file system of its own, which ends with it
if kernel_has 6 6; then
	for i in 1 2; do
		said "own-bpffs-$i" 0 "loaded, XDP" --privileged -- "$xiwarp" load "$IF_RCV"
	done
	in_ns rcv "$xiwarp" unload "$IF_RCV" >/dev/null || fail own-bpffs-unload "exit code $?"
fi

# ---- as the pod has it, with the profile as Docker and containerd have it
profile=$TMP/profile.json
python3 - /usr/share/containers/seccomp.json "$profile" <<'END'
import json, sys
profile = json.load(open(sys.argv[1]))
rules = [r for r in profile["syscalls"] if "bpf" not in r["names"]]
rules += [{"names": ["bpf"], "action": "SCMP_ACT_ALLOW", "includes": {"caps": ["CAP_BPF"]}}]
json.dump({**profile, "syscalls": rules}, open(sys.argv[2], "w"))
END
read -ra load <<<"$(capabilities load)"
read -ra serve <<<"$(capabilities serve)"
bpffs=(-v /sys/fs/bpf:/sys/fs/bpf)
said pod-profile-forbids 3 "a seccomp profile forbids bpf()" "${load[@]}" "${bpffs[@]}" -- \
	"$xiwarp" load "$IF_RCV"
said pod-no-bpffs 6 "is not on a BPF file system" "${load[@]}" \
	--security-opt "seccomp=$profile" -- "$xiwarp" load "$IF_RCV"
said pod-load 0 "loaded, XDP" "${load[@]}" "${bpffs[@]}" --security-opt "seccomp=$profile" -- \
	"$xiwarp" load "$IF_RCV"
said pod-load-again 5 "loaded on $IF_RCV already" "${load[@]}" "${bpffs[@]}" \
	--security-opt "seccomp=$profile" -- "$xiwarp" load "$IF_RCV"
for i in 1 2; do
	receives "pod-direct-$i" 1 "${serve[@]}" "${bpffs[@]}" --security-opt "seccomp=$profile" --
done
receives pod-profile-forbids-serve 0 "${serve[@]}" "${bpffs[@]}" --
expect pod-profile-told grep -q "no direct path: .*a seccomp profile forbids it" "$TMP/server"
in_ns rcv "$xiwarp" unload "$IF_RCV" >/dev/null || fail pod-unload "exit code $?"
expect pins-gone test ! -e "/sys/fs/bpf/xiwarp/$IF_RCV"
finish
