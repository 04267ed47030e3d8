#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# xiwarp run as a command: exit codes, where its options end, what the environment has afterwards, and one clear line
# for what cannot be.
. "${0%/*}/../lib/lib.sh"
. "${0%/*}/programs.sh"

xiwarp=$TMP/xiwarp # copies: others cannot get at what was built under another umask
install -m 755 "$BUILD"/{xiwarp,libxiw-verbs.so,libxiw-trace.so} "$TMP"
chmod 755 "$TMP"
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)

# gives NAME CODE WORDS CMD...: exit code and standard output, and nothing on standard error.
gives() {
	local name=$1 code=$2 words=$3 rc
	shift 3
	in_ns rcv timeout 30 "$@" >"$TMP/out" 2>"$TMP/err" </dev/null
	rc=$?
	if ((rc != code)) || [[ $(<"$TMP/out") != "$words" || -s $TMP/err ]]; then
		fail "$name" "exit code $rc: $(cat "$TMP/out" "$TMP/err")"
	else
		pass "$name"
	fi
}

# fails NAME WORDS CMD...: rping finds no device that works, and the words are in just one line.
fails() {
	local name=$1 words=$2 rc
	shift 2
	in_ns rcv timeout 30 "$@" >"$TMP/out" 2>&1 </dev/null
	rc=$?
	if ((rc == 0 || rc == 124)) || [[ $(grep -cF -- "$words" "$TMP/out") != 1 ]]; then
		fail "$name" "exit code $rc: $(cat "$TMP/out")"
	else
		pass "$name"
	fi
}

wire_up plain || exit 1
run=("${foreign[@]}" "$xiwarp" run)

# ---- exit codes
gives exit-0 0 "" "${run[@]}" true
gives exit-42 42 "" "${run[@]}" -- sh -c 'exit 42'
# Before any constructor has run.
early=$BUILD/tests/net/programs/early
for how in execve execvpe execveat fexecve; do
	gives "early-$how" 0 early "${run[@]}" "$early" "$how"
done
gives early-exit 5 "" "${run[@]}" "$early" _exit
for how in alone chain child; do
	gives "last-thread-$how" 0 last "${run[@]}" \
		"$BUILD/tests/net/programs/verbs_last_thread" $how
done
gives cancelled-at-first-use 0 "" "${run[@]}" "$BUILD/tests/net/programs/verbs_first_use"
# timeout would not tell a signal from an exit code; a shell does.
# shellcheck disable=SC2016
gives signal 0 143 bash -c 'exec 2>/dev/null; "$@"; echo $?' sh "${run[@]}" sh -c 'kill -TERM $$'
refused no-command 2 "usage: xiwarp run" "${run[@]}"
refused not-found 127 "/nowhere/program: No such file" "${run[@]}" /nowhere/program
refused not-in-path 127 "no-such-program: No such file" "${run[@]}" -- no-such-program
printf 'no program\n' >"$TMP/file"
refused not-executable 126 "$TMP/file: Permission denied" "${run[@]}" "$TMP/file"
refused directory 126 "$TMP: Permission denied" "${run[@]}" "$TMP"

# ---- the loader would split, or change, the libraries' path: the program is not started without them
# shellcheck disable=SC2016
for sign in 'a blank' 'a:colon' 'a$LIB'; do
	mkdir "$TMP/$sign"
	install -m 755 "$TMP"/{xiwarp,libxiw-verbs.so,libxiw-trace.so} "$TMP/$sign"
	refused "path-with-${sign//[^a-zA-Z]/-}" 1 \
		"the loader cannot preload $TMP/$sign/libxiw-verbs.so" "$TMP/$sign/xiwarp" run true
	rm -r "${TMP:?}/$sign"
done

# ---- options
gives options-end 0 "--path x --json" "${run[@]}" --queues 1 echo --path x --json
gives options-end-hyphens 0 "-- --help" "${run[@]}" -- echo -- --help
refused option-unknown 2 "unknown option --what" "${run[@]}" --what true
refused json 2 "--json does not apply" "${run[@]}" --json true
refused json-global 2 "--json does not apply" "$xiwarp" --json run true
refused path-unknown 2 "--path: 'wire' is not auto, kernel or direct" "${run[@]}" --path wire true
for n in 0 65 x -1; do
	refused "queues-$n" 2 "--queues: '$n' is not a number from 1 to 64" \
		"${run[@]}" --queues "$n" true
done
refused interface-unknown 4 "there is no such interface" "${run[@]}" --if nothing0 true

# ---- the environment
# shellcheck disable=SC2016
show='echo -n "$XIWARP_PATH/$XIWARP_QUEUES/$XIWARP_IF/$XIWARP_PIN_DIR/$XIWARP_REPORT"
	echo "/$XIWARP_SEND_FIRST"'
gives environment-bare 0 "/////" "${run[@]}" sh -c "$show"
gives environment-stays 0 "kernel/3////" env XIWARP_PATH=kernel XIWARP_QUEUES=3 "${run[@]}" \
	sh -c "$show"
gives environment-options 0 "auto/2/$IF_RCV/$TMP/1/1" env XIWARP_PATH=kernel XIWARP_QUEUES=3 \
	"${run[@]}" --path auto --queues 2 --if "$IF_RCV" --pin-dir "$TMP" --report --send-first \
	sh -c "$show"
if [[ ${foreign[*]} ]]; then
	skip preload-first "the sanitizers' runtime is"
else
	# shellcheck disable=SC2016
	gives preload-first 0 "$TMP/libxiw-verbs.so:$TMP/libxiw-trace.so" \
		env LD_PRELOAD="$TMP/libxiw-trace.so" "${run[@]}" sh -c 'echo "$LD_PRELOAD"'
fi

# ---- what has no meaning is not taken for something else
server=("${run[@]}" --if "$IF_RCV" -- rping -s -C 1)
fails wrong-path "XIWARP_PATH: 'wire' is not auto, direct or kernel" \
	env XIWARP_PATH=wire "${server[@]}"
fails wrong-queues "XIWARP_QUEUES: 'all' is not a number from 0 to 64" \
	env XIWARP_QUEUES=all "${server[@]}"
fails wrong-engines "XIWARP_ENGINES: '65' is not a number from 0 to 64" \
	env XIWARP_ENGINES=65 "${server[@]}"
fails wrong-ring "XIWARP_RING: 'poll' is not io_uring or epoll" env XIWARP_RING=poll "${server[@]}"
fails ring-refused "begin: Operation not permitted: XIWARP_RING insists on io_uring" \
	env XIWARP_RING=io_uring "$BUILD/tests/net/lib/forbidden" io_uring:EPERM -- "${server[@]}"

# ---- the direct path, or no program
refused direct-bare 4 "--path direct: xiwarp is not loaded" "${run[@]}" --path direct true
refused direct-bare-interface 4 "--path direct: xiwarp is not loaded" \
	"${run[@]}" --path direct --if "$IF_RCV" true
in_ns rcv ip link add silent0 type veth peer name silent1
refused direct-no-address 4 "--path direct: silent0 has no address" \
	"${run[@]}" --path direct --if silent0 true
in_ns rcv "$xiwarp" load "$IF_RCV" >/dev/null || fail load "exit code $?"
refused direct-nobody 3 "is missing" "${nobody[@]}" "${run[@]}" --path direct true
refused direct-elsewhere 4 "--path direct: " "${run[@]}" --path direct \
	--pin-dir /sys/fs/bpf/none true
gives direct 0 "" "${run[@]}" --path direct --if "$IF_RCV" true
gives direct-any 0 "" "${run[@]}" --path direct true
gives kernel-nobody 0 "" "${nobody[@]}" "${run[@]}" --path kernel true
in_ns rcv "$xiwarp" unload "$IF_RCV" >/dev/null
# A program that was not started by the option says it itself.
spawn pid rcv late env XIWARP_PATH=direct "${server[@]}"
expect direct-environment wait_until 10 grep -q \
	"^xiwarp: no connection can be made, as none can go direct: xiwarp is not loaded" \
	"$TMP/late"
stop "$pid"
finish
