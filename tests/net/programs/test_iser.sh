#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 300
#
# A disk by iSER: Debian's tgtd as its target, and as its initiators the tools of libiscsi and qemu's, which loads that
# library as a plug-in. tgtd fetches what is written by RDMA Reads, and brings what is read by RDMA Writes.
. "${0%/*}/../lib/lib.sh"
. "${0%/*}/programs.sh"

for program in tgtd iscsi-inq qemu-io; do
	type $program >/dev/null 2>&1 && continue
	skip iser "$program is not installed (make programs)"
	finish
done

if [[ ${foreign[*]} ]]; then
	skip iser "tgtd's memory and qemu's coroutines are not for AddressSanitizer"
	finish
fi

wire_up plain 1500 1 || exit 1
wire_clamp 262144
load_both || exit 1
export TGT_IPC_SOCKET=$TMP/tgtd
target=iqn.2026-11.example:disk initiator=iqn.2026-11.example:initiator
url=iser://$V4_RCV:3260/$target/1
disk=driver=raw,file.driver=iscsi,file.transport=iser,file.portal=$V4_RCV:3260,file.target=$target
disk+=,file.lun=1,file.initiator-name=$initiator

tgt() {
	in_ns rcv tgtadm --lld iser --mode "$1" --op "$2" "${@:3}"
}

# tgtd would take the port of iSER for iSCSI over TCP. Both an address and a name have to be admitted.
serve_disk() {
	truncate -s 16M "$TMP/disk"
	_serve tgtd 'tgtd -f --iscsi portal=127.0.0.1:3261' 3260 &&
		wait_until 10 tgt target new --tid 1 --targetname $target &&
		tgt logicalunit new --tid 1 --lun 1 --backing-store "$TMP/disk" &&
		tgt target bind --tid 1 --initiator-address ALL &&
		tgt target bind --tid 1 --initiator-name $initiator
}

_no_session() {
	local sessions
	sessions=$(tgt conn show --tid 1) && [[ $sessions != *Session* ]]
}

# tgtd frees what a connection had when it is told TIMEWAIT_EXIT.
end_sessions() {
	wait_until 20 _no_session && tgt target delete --tid 1 && tgt system delete &&
		reap "$server" 20
}

# NAME WORDS CLIENT: runs it; it must say that.
asks() {
	_ask "$1" "$3" 30 || return
	if grep -q "$2" "$TMP/client"; then
		pass "$1"
	else
		fail "$1" "it does not say '$2': $(tail -n 20 "$TMP/client")"
	fi
}

# libiscsi takes no request of 512 KiB or more over iSER.
write_random() {
	local at=0 piece
	random_file "$TMP/random" 16
	split -a 3 -b 256K "$TMP/random" "$TMP/piece-"
	for piece in "$TMP"/piece-*; do
		echo "write -s $piece $at 256k"
		((at += 262144))
	done >"$TMP/commands"
	printf '%s\n' '#!/bin/sh' "exec qemu-io --image-opts $disk <$TMP/commands" >"$TMP/writes"
	chmod +x "$TMP/writes"
	_ask writes "$TMP/writes" 60
}

serve_disk || { fail tgtd "$(tail -n 5 "$TMP/server")"; finish; }
asks inquiry 'Vendor:IET' "iscsi-inq -i $initiator $url"
asks capacity 'Total size:16777216' "iscsi-readcapacity16 -i $initiator $url"
asks reads-many 'iops average' "iscsi-perf -i $initiator -m 8 -b 64 -t 1 $url"
expect reads-many-direct direct_enough "$TMP/client" 95
if write_random; then
	expect written cmp "$TMP/random" "$TMP/disk"
	_ask reads "qemu-img dd --image-opts -O raw bs=256k if=$disk of=$TMP/back" 60 &&
		expect read cmp "$TMP/random" "$TMP/back"
	expect read-direct direct_enough "$TMP/client" 95
fi
# Nobody but the plug-in sees the libraries that it has brought.
in_ns snd "${foreign[@]}" "$xiwarp" run --trace --if "$IF_SND" -- \
	qemu-img info --image-opts $disk >"$TMP/traced" 2>&1
expect traced [ $? = 0 ]
expect traced-events grep -q 'rdma_get_cm_event(.*RDMA_CM_EVENT_ESTABLISHED' "$TMP/traced"
end_sessions
expect tgtd-ends [ $? = 0 ]
expect written-direct direct_enough "$TMP/server" 95
finish
