#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What peers can take of the file system that 'xiwarp serve' writes to, and of the process: it allocates space as octets
# come, has one thread beside each engine, and reports a full disk. Files that change while 'xiwarp put' sends them.
# timeout: 120
. "${0%/*}/../lib/lib.sh"

xiwarp=$BUILD/xiwarp disk=$TMP/disk limit=()

# begin SIZE OPTIONS...: a disk of that size, and serve on it.
begin() {
	local size=$1
	shift
	mkdir -p "$disk"
	mount -t tmpfs -o "size=$size" none "$disk" || fail mount "exit code $?"
	spawn serve rcv serve "${limit[@]}" "$xiwarp" serve "$@" "$disk"
	wait_listen rcv 15044 || fail serve "nobody listens: $(cat "$TMP/serve")"
}

# begin_deceived SIZE: the same, but the kernel does not reserve what it is asked for, and says that it has. When serve
# has asked for the free space on account of the first offer, it is stopped until the disk has but SIZE left.
begin_deceived() {
	rm -f "$TMP/calls"
	mkdir -p "$disk"
	mount -t tmpfs -o size=100M none "$disk" || fail mount "exit code $?"
	spawn serve rcv serve "${traced[@]}" -D -f -o "$TMP/calls" -e trace=fstatfs,fallocate \
		-e inject=fallocate:retval=0 -e inject=fstatfs:signal=STOP:when=1 \
		"$xiwarp" serve "$disk"
	wait_listen rcv 15044 || fail serve "nobody listens: $(cat "$TMP/serve")"
	spawn shrinker host shrink sh -c "
		until grep -sq 'stopped by SIGSTOP' '$TMP/calls'; do sleep 0.02; done
		mount -o 'remount,size=$1' '$disk'; kill -CONT $serve"
}

end() {
	local rc
	stop "$serve" INT
	rc=$?
	((rc == 130)) || fail end "exit code $rc: $(cat "$TMP/serve")"
	umount "$disk"
}
at_end umount -q "$disk"

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

refused create-no-parent 1 \
	"cannot make directory $TMP/none/in: there is no directory to make it in" \
	"$xiwarp" serve --path kernel --create "$TMP/none/in"
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
threads() { ls "/proc/$serve/task" | wc -l; }
before=$(threads)
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
expect offers-take-no-thread [ "$(threads)" = "$before" ]
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

# refused_file NAME FILE WORDS: the file, with these words; the small one behind it arrives, and serve lives.
refused_file() {
	local rc
	put "$TMP/$2" "$TMP/small" $V4_RCV
	rc=$?
	if ((rc == 7)) && grep -q "$2 was refused: $3" "$TMP/put" &&
		cmp -s "$TMP/small" "$disk/small" &&
		kill -0 "$serve"; then
		pass "$1"
	else
		fail "$1" "exit code $rc: $(cat "$TMP/put" "$TMP/serve")"
	fi
	end
}

# refuses NAME SIZE WORDS OPTIONS...
refuses() {
	begin "$2" "${@:4}"
	refused_file "$1" medium "$3"
}

refuses full-disk 16M "no space there"
refuses max-size 100M "too large there" --max-size 2M
refuses keep-free 40M "no space there" --keep-free 20M
# The limit has a signal of its own, which would end serve for all peers.
limit=(prlimit --fsize=$((8 << 20)) --)
refuses file-size-limit 100M "too large there"
limit=()

# The file that a peer holds has the smallest ring, which is all memory; a tiny file needs none of it.
head -c 60000 /dev/urandom >"$TMP/tiny"
begin 200M --memory 4M
spawn offer snd offer "$BUILD/tests/net/admin/serve" $V4_RCV 15044 60000000
wait_until 10 grep -q "status 0" "$TMP/offer" || fail memory "$(cat "$TMP/offer" "$TMP/serve")"
put "$TMP/medium" "$TMP/tiny" $V4_RCV
rc=$?
if ((rc == 7)) && grep -q "medium was refused: no memory there" "$TMP/put" &&
	cmp -s "$TMP/tiny" "$disk/tiny"; then
	pass memory
else
	fail memory "exit code $rc: $(cat "$TMP/put" "$TMP/serve")"
fi
stop "$offer"
given_back() { put "$TMP/medium" $V4_RCV; }
if wait_until 10 given_back && cmp -s "$TMP/medium" "$disk/medium"; then
	pass memory-given-back
else
	fail memory-given-back "$(cat "$TMP/put" "$TMP/serve")"
fi
end

if type -P strace >/dev/null; then
	# The last octets are granted when all but what the ring holds have been written, 16 MiB.
	random_file "$TMP/long" 60
	begin_deceived 16M
	refused_file full-disk-without-reserve long "no space there"
	rm "$TMP/long"
	# The last octets are written behind the last GRANT.
	begin_deceived 4M
	random_file "$TMP/last" 5
	put "$TMP/last" $V4_RCV
	rc=$?
	if ((rc == 7)) && grep -q "last was not accepted: no space there" "$TMP/put" &&
		wait_until 5 eval '(($(used) == 0))' && kill -0 "$serve"; then
		pass full-disk-at-the-end
	else
		fail full-disk-at-the-end "exit code $rc: $(cat "$TMP/put" "$TMP/serve")"
	fi
	end
else
	skip full-disk-without-reserve "strace is not installed"
	skip full-disk-at-the-end "strace is not installed"
fi

# RFC 5042 section 6.2.2: a peer cannot change octets of which it could know the digest.
begin 40M
spawn pid snd rewrite "$BUILD/tests/net/admin/serve" $V4_RCV 15044 8388608 rewrite
if reap "$pid" 20 && grep -q ended "$TMP/rewrite" && grep -q "STag" "$TMP/serve"; then
	pass no-rewrite
else
	fail no-rewrite "$(cat "$TMP/rewrite" "$TMP/serve")"
fi
end

begin 40M --idle 1
spawn pid snd offer-idle "$BUILD/tests/net/admin/serve" $V4_RCV 15044 60000000
if reap "$pid" 20 && wait_until 5 grep -q "sent too little for too long" "$TMP/serve"; then
	wait_until 5 eval '(($(used) == 0))' && pass idle || fail idle "$(used) KiB are left"
else
	fail idle "$(cat "$TMP/offer-idle" "$TMP/serve")"
fi
end

# What a peer trickles renews nothing.
begin 40M --idle 1
spawn pid snd trickle "$BUILD/tests/net/admin/serve" $V4_RCV 15044 60000000 trickle
if reap "$pid" 20 && wait_until 5 grep -q "sent too little for too long" "$TMP/serve"; then
	pass idle-trickles
else
	fail idle-trickles "$(cat "$TMP/trickle" "$TMP/serve")"
fi
end

# However many files one address offers, another one finds memory. Each ring is of 4 MiB, the least.
begin 200M --memory 16M
for i in 1 2 3 4; do
	spawn "offer$i" snd "share$i" "$BUILD/tests/net/admin/serve" $V4_RCV 15044 60000000
	wait_until 10 grep -q status "$TMP/share$i" || fail "share-$i" "$(cat "$TMP/share$i")"
done
put "$TMP/medium" "$V6_RCV"
rc=$?
if ((rc == 0)) && [[ $(cat "$TMP"/share[12] | grep -c 'status 0') == 2 ]] &&
	! grep -q 'status 0' "$TMP"/share[34]; then
	pass memory-shared
else
	fail memory-shared "exit code $rc: $(cat "$TMP"/share? "$TMP/put" "$TMP/serve")"
fi
# shellcheck disable=SC2154
for pid in "$offer1" "$offer2" "$offer3" "$offer4"; do
	stop "$pid"
done
end

# A file that is refused in the middle while octets of it are still to be written: they never are.
begin 64M --idle 5
spawn pid snd offer-full "$BUILD/tests/net/admin/serve" $V4_RCV 15044 60000000 fill
wait_until 10 grep -q "status 0" "$TMP/offer-full" ||
	fail offer-full "$(cat "$TMP/offer-full" "$TMP/serve")"
head -c 40M /dev/zero >"$disk/another"
kill -USR1 "$pid"
if reap "$pid" 20 && wait_until 5 grep -q "sent too little for too long" "$TMP/serve"; then
	pass idle-on-a-full-disk
else
	fail idle-on-a-full-disk "$(cat "$TMP/offer-full" "$TMP/serve")"
fi
end

# Files that change. The ring of put holds 8 MiB, so that a file of 1 GiB of which 1 MB is acknowledged is not yet read.
moving() { in_ns snd ss -Htni "dport = :15044" | grep -Eq 'bytes_acked:[0-9]{7}'; }
begin 2G
truncate -s 1G "$TMP/changes"
spawn pid snd put "$xiwarp" put --json "$TMP/changes" $V4_RCV
wait_until 10 moving
printf x | dd of="$TMP/changes" bs=1 seek=$(((1 << 30) - 1)) conv=notrunc status=none
printf y | dd of="$TMP/changes" bs=1 conv=notrunc status=none
reap "$pid" 60
rc=$?
if ((rc == 0)) && grep -q '"digest_equal":true' "$TMP/put" &&
	[[ $(stat -c %s "$disk/changes") == $((1 << 30)) ]]; then
	pass changed
else
	fail changed "exit code $rc: $(cat "$TMP/put" "$TMP/serve")"
fi
rm -f "$disk/changes"
spawn pid snd put "$xiwarp" put "$TMP/changes" $V4_RCV
wait_until 10 moving
truncate -s 1 "$TMP/changes"
reap "$pid" 60
rc=$?
if ((rc == 1)) && [[ $(<"$TMP/put") == *"changes: became shorter while it was sent" ]] &&
	[[ $(wc -l <"$TMP/put") == 1 ]] && wait_until 5 eval '(($(used) == 0))'; then
	pass became-shorter
else
	fail became-shorter "exit code $rc: $(cat "$TMP/put" "$TMP/serve")"
fi
put "$TMP/small" $V4_RCV || fail serves "exit code $?"
end
finish
