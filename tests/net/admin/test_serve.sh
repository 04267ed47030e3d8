#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What peers can take of the file system that 'xiwarp serve' writes to: it allocates space as octets come, and reports a
# full disk.
# timeout: 120
. "${0%/*}/../lib/lib.sh"

xiwarp=$BUILD/xiwarp disk=$TMP/disk

# begin SIZE OPTIONS...: a disk of that size, and serve on it.
begin() {
	local size=$1
	shift
	mkdir -p "$disk"
	mount -t tmpfs -o "size=$size" none "$disk" || fail mount "exit code $?"
	spawn serve rcv serve "$xiwarp" serve "$@" "$disk"
	wait_listen rcv 15044 || fail serve "nobody listens: $(cat "$TMP/serve")"
}

end() {
	stop "$serve" INT
	umount "$disk"
}
trap 'rc=$?; umount "$disk" 2>/dev/null; (exit $rc); _cleanup' EXIT

put() {
	in_ns snd timeout 60 "$xiwarp" put "$@" >"$TMP/put" 2>&1
}

used() {
	df --output=used -B1K "$disk" | tail -n 1
}

wire_up plain 1500
random_file "$TMP/large" 150
random_file "$TMP/small" 1
random_file "$TMP/medium" 30

begin 400M
put "$TMP/large" "$TMP/small" $V4_RCV
rc=$?
if ((rc == 0)) && cmp -s "$TMP/large" "$disk/large" && cmp -s "$TMP/small" "$disk/small"; then
	pass many-windows
else
	fail many-windows "exit code $rc: $(cat "$TMP/put" "$TMP/serve")"
fi
end

begin 64M
offers=()
for i in 1 2 3 4 5; do
	spawn pid snd "offer-$i" "$BUILD/tests/net/admin/serve" $V4_RCV 15044 60000000
	offers+=("$pid")
	wait_until 10 grep -q "status 0" "$TMP/offer-$i" ||
		fail offers "$(cat "$TMP/offer-$i" "$TMP/serve")"
done
if (($(used) <= 6 * 1024)); then
	pass offers-take-little
else
	fail offers-take-little "$(used) KiB"
fi
put "$TMP/medium" $V4_RCV
rc=$?
if ((rc == 0)) && cmp -s "$TMP/medium" "$disk/medium"; then
	pass offers-beside-a-file
else
	fail offers-beside-a-file "exit code $rc: $(cat "$TMP/put" "$TMP/serve")"
fi
for pid in "${offers[@]}"; do
	stop "$pid"
done
end

# refuses NAME SIZE WORDS OPTIONS...: the medium file, with these words; the small one behind it arrives, and serve
# lives.
refuses() {
	local rc
	begin "$2" "${@:4}"
	put "$TMP/medium" "$TMP/small" $V4_RCV
	rc=$?
	if ((rc == 7)) && grep -q "medium was refused: $3" "$TMP/put" &&
		cmp -s "$TMP/small" "$disk/small" &&
		kill -0 "$serve"; then
		pass "$1"
	else
		fail "$1" "exit code $rc: $(cat "$TMP/put" "$TMP/serve")"
	fi
	end
}

refuses full-disk-in-the-middle 16M "no space there"
refuses max-size 100M "too large there" --max-size 2M
refuses keep-free 40M "no space there" --keep-free 20M

begin 40M --idle 1
spawn pid snd offer-idle "$BUILD/tests/net/admin/serve" $V4_RCV 15044 60000000
if reap "$pid" 20 && wait_until 5 grep -q "sent nothing for too long" "$TMP/serve"; then
	wait_until 5 eval '(($(used) == 0))' && pass idle || fail idle "$(used) KiB are left"
else
	fail idle "$(cat "$TMP/offer-idle" "$TMP/serve")"
fi
end
finish
