# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Debian's tgtd, unmodified, under `xiwarp run`, serves a disk by iSER to Linux's initiator (ib_iser) over siw. A file
# system is made on it, files are written, read back and compared by digest, and fsck finds nothing to mend, neither
# from the initiator's side nor in what tgtd has on its own. The target's RDMA Reads fetch what the initiator writes,
# its RDMA Writes bring what it reads. limit: 900, siw: 1
. vmtest/siw.sh
target=iqn.2026-11.example:disk
initiator=iqn.2026-11.example:vm
portal=10.88.0.2:3260
node=(iscsiadm -m node -T $target -p $portal)

tgt() {
	expect "tgtadm-$1-$2" in_ours tgtadm --lld iser --mode "$1" --op "$2" "${@:3}"
}

# tgtd would take the port of iSER for iSCSI over TCP. Both an address and a name have to be admitted.
serve_disk() {
	truncate -s 64M /tmp/disk
	in_ours "$BUILD/xiwarp" run --report --if ours0 -- \
		tgtd -f --iscsi portal=127.0.0.1:3261 >"$RESULTS/tgtd" 2>&1 &
	tgtd=$!
	listening 3260 in_ours
	tgt target new --tid 1 --targetname $target
	tgt logicalunit new --tid 1 --lun 1 --backing-store /tmp/disk
	tgt target bind --tid 1 --initiator-address ALL
	tgt target bind --tid 1 --initiator-name $initiator
}

# tgtd frees what a connection had when it is told TIMEWAIT_EXIT, a moment after the end.
stop_tgtd() {
	local sessions i
	for ((i = 0; i < 300; i++)); do
		sessions=$(in_ours tgtadm --lld iser --mode conn --op show --tid 1)
		[[ $sessions == *Session* ]] || break
		sleep 0.1
	done
	expect no-session eval '[[ $sessions != *Session* ]]'
	tgt target delete --tid 1
	tgt system delete
	ended $tgtd
	expect tgtd-ended [ $? = 0 ]
	cat "$RESULTS/tgtd"
}

# The disk has appeared, or gone.
disk_is() { # BLOCK-DEVICE-TEST
	local i
	for ((i = 0; i < 300; i++)); do
		[ "$@" /dev/sda ] && return
		sleep 0.1
	done
	return 1
}

log_in() {
	expect "$1" patiently 20 "${node[@]}" --login
	expect "$1-disk" disk_is -b
}

log_out() {
	expect "$1" patiently 20 "${node[@]}" --logout
	expect "$1-disk" disk_is ! -b
}

write_files() {
	local octets
	mkdir -p /mnt/disk
	expect mount mount /dev/sda /mnt/disk
	for octets in 1 4096 65536 1000001 16777216 25000000; do
		head -c $octets /dev/urandom >"/mnt/disk/$octets"
	done
	(cd /mnt/disk && sha256sum [0-9]*) >"$RESULTS/digests"
	expect umount umount /mnt/disk
}

digests_of() {
	(cd "$1" && sha256sum -c --quiet "$RESULTS/digests")
}

# By another session, so that nothing is in memory.
read_files() {
	expect mount-again mount -o ro /dev/sda /mnt/disk
	expect digests digests_of /mnt/disk
	expect umount-again umount /mnt/disk
}

guest() {
	local iscsid i
	siw_up
	modprobe sd_mod
	modprobe ext4
	modprobe ib_iser
	serve_disk
	echo "InitiatorName=$initiator" >/etc/iscsi/initiatorname.iscsi
	# When it ends, it ends its process group.
	setsid iscsid -f >"$RESULTS/iscsid" 2>&1 &
	iscsid=$!
	for ((i = 0; i < 100; i++)); do
		"${node[@]}" -o new -I iser >/dev/null 2>&1 && break
		sleep 0.1
	done
	log_in log-in
	expect mkfs mkfs.ext4 -q -F /dev/sda
	write_files
	expect fsck fsck.ext4 -f -n /dev/sda
	log_out log-out
	log_in log-in-again
	read_files
	log_out log-out-again
	kill $iscsid
	wait $iscsid
	stop_tgtd
	expect fsck-target fsck.ext4 -f -n /tmp/disk
	mkdir /tmp/there
	debugfs -R 'rdump / /tmp/there' /tmp/disk
	expect digests-target digests_of /tmp/there
	sed -n 's/^xiwarp: .* octets received, \(.*\) by the direct path.*/SHARE \1/p' \
		"$RESULTS/tgtd"
}
