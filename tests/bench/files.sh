# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Sourced by `run`: files by put and serve, against the library alone over the same wire. Rounds become lines of
# $TMP/lines, for bench_rows.

# files_library memory|file: the library; sets $rate to Gbit/s.
files_library() {
	local rc region=64 to=() from=()
	[[ $1 == memory ]] || region=$mib to=("$files_at/came") from=("$files_at/file")
	spawn receiver rcv recv.err sh -c 'exec "$@" >"$0"' "$TMP/result" "$bench" recv direct \
		"$V4_RCV" "$port" "$mib" "$region" "$(napi_thread rcv)" "${to[@]}"
	wait_listen rcv "$port" || die "files: the receiver does not listen"
	spawn sender snd send "$bench" send direct "$V4_RCV" "$port" "$mib" "$region" \
		"$(napi_thread snd)" "${from[@]}"
	reap "$sender" 60 || die "files: the sender failed with exit code $?"
	reap "$receiver" 10
	rc=$?
	((rc)) && die "files: the receiver failed with exit code $rc"
	[[ $1 == memory ]] || cmp "$files_at/file" "$files_at/came" || die "files: other octets"
	rm -f "$files_at/came"
	rate=$(awk -v m="$(mib_per_s)" 'BEGIN { print m * 8 * 1048576 / 1e9 }')
}

# The same by put and serve; put's clock ends when serve has verified the file and answered.
files_put() {
	local rc
	mkdir "$files_at/in"
	spawn receiver rcv recv.err sh -c 'exec "$@" >"$0"' "$TMP/served" "$BUILD/xiwarp" serve \
		--json --once "$files_at/in"
	wait_listen rcv 15044 || die "files: serve does not listen"
	spawn sender snd send "$BUILD/xiwarp" put --json "$files_at/file" "$V4_RCV"
	reap "$sender" 60 || die "files: put failed with exit code $?"
	reap "$receiver" 10
	rc=$?
	((rc)) && die "files: serve failed with exit code $rc"
	cmp "$files_at/file" "$files_at/in/file" || die "files: other octets"
	rm -r "$files_at/in"
	rate=$(field gbit_per_s "$TMP/send")
	echo "put: $(<"$TMP/send") $(<"$TMP/served")" >>"$TMP/spread"
}

# The time that the file system takes to write a file, without a network.
files_write() {
	local from=$EPOCHREALTIME
	dd if=/dev/zero of="$files_at/came" bs=1M count="$mib" status=none || die "files: dd failed"
	written=$(awk -v a="$from" -v b="$EPOCHREALTIME" -v m="$mib" \
		'BEGIN { print m * 8 * 1048576 / (b - a) / 1e9 }')
	rm "$files_at/came"
}

# files_in NAME DIRECTORY: rounds with files of a directory's file system.
files_in() {
	local round text put rate written
	files_at=$(mktemp -d "$2/xiw-bench.XXXXXX") || die "files: no directory in $2"
	random_file "$files_at/file" "$mib"
	for ((round = 0; round <= rounds; round++)); do
		progress "MTU 1500, files in $2, round $round of $rounds"
		files_put
		put=$rate
		files_write
		files_library file
		text="direct path; a file of $mib MiB from page cache to a new file on"
		text+=" $(stat -f -c %T "$2"), which takes writes of 1 MiB at"
		((round)) && echo "put_vs_library$1 1500 $mib Gbit/s $put $rate $text $written" \
			"Gbit/s; ours: put and serve, from the first grant until the file is" \
			"verified and named; other: the library, tagged messages from the mapped" \
			"file to the mapped new one, not verified" >>"$TMP/lines"
		files_library memory
		((round)) && echo "put_vs_library_to_memory$1 1500 64 Gbit/s $put $rate $text" \
			"$written Gbit/s; ours: put and serve, from the first grant until the" \
			"file is verified and named; other: the library, from memory to memory," \
			"64 MiB again and again, not verified" >>"$TMP/lines"
	done
	rm -r "$files_at"
	files_at=
}

files_at=
files() {
	# It is not in $TMP.
	trap 'rc=$?; rm -rf ${files_at:+"$files_at"}; (exit $rc); _cleanup' EXIT
	# Neither end is bound to a core: each may use what the wire leaves.
	wire_up fair 1500
	wire_clamp 261000
	loaded=none
	need_programs ours
	files_in "" /dev/shm
	files_in _disk "$TMP"
	wire_down
}
