#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The command in unusual cases, on the kernel path: usage, exit codes, files of all kinds, names, signals, and
# peers that break the protocol. timeout: 240
. "${0%/*}/../lib/lib.sh"

xiwarp=$TMP/bin/xiwarp # a copy: others cannot get at what was built under another umask
install -D -m 755 "$BUILD/xiwarp" "$xiwarp"
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
server=
chmod 755 "$TMP" "$TMP/bin"

serve() { # OPTION...
	rm -rf "$TMP/in"
	mkdir "$TMP/in"
	spawn server rcv serve.log sh -c 'exec "$@" >"$0"' "$TMP/serve.json" \
		"$xiwarp" serve --path kernel --json "$@" "$TMP/in"
	wait_listen rcv 15044 || fail serve-listens "$(cat "$TMP/serve.log")"
}

serves() { kill -0 "$server" 2>/dev/null && put_ok "$TMP/small"; }
put() { in_ns rcv timeout 60 "$xiwarp" put "$@"; }
put_ok() { # OPTION... FILE
	local file=${*: -1}
	put "$@" 127.0.0.1 && cmp "$file" "$TMP/in/${file##*/}" && rm "$TMP/in/${file##*/}"
}
moving() { in_ns rcv ss -Htni "dport = :15044" | grep -Eq 'bytes_acked:[0-9]{6}'; }
nothing_left() { [[ -z $(ls -A "$TMP/in") ]]; }

# ends NAME CODE [SIGNAL]: how the server ends, and that it leaves no temporary file.
ends() {
	local rc
	if [[ -n ${3:-} ]]; then
		stop "$server" "$3"
	else
		reap "$server" 15
	fi
	rc=$?
	if ((rc != $2)); then
		fail "$1" "exit code $rc, not $2: $(cat "$TMP/serve.log")"
	elif compgen -G "$TMP/in/.xiwarp-*" >/dev/null; then
		fail "$1" "left $(ls -A "$TMP/in")"
	else
		pass "$1"
	fi
}

# ---- a peer made of nothing but the RFCs: octets as hex, MPA with CRC and without markers

crc_table=()
for ((i = 0; i < 256; i++)); do
	for ((c = i, k = 0; k < 8; k++)); do ((c = c & 1 ? c >> 1 ^ 0x82f63b78 : c >> 1)); done
	crc_table+=("$c")
done

# fpdu HEX: the ULPDU with its length, padding and CRC32c (RFC 5044 section 4).
fpdu() {
	local body crc=0xffffffff i
	printf -v body '%04x%s' $((${#1} / 2)) "$1"
	while ((${#body} % 8)); do body+=00; done
	for ((i = 0; i < ${#body}; i += 2)); do
		((crc = crc >> 8 ^ crc_table[(crc ^ 0x${body:i:2}) & 255]))
	done
	((crc ^= 0xffffffff))
	printf '%s%02x%02x%02x%02x' "$body" $((crc & 255)) $((crc >> 8 & 255)) \
		$((crc >> 16 & 255)) $((crc >> 24))
}

# untagged MSN HEX [QN], tagged STAG TO HEX: one DDP segment (RFC 5041 section 4).
untagged() { printf '410000000000%08x%08x00000000%s' "${3:-0}" "$1" "$2"; }
tagged() { printf 'c100%08x%016x%s' "$1" "$2" "$3"; }

# raw PORT STARTUP HEX...: startup is `mpa` or hex. After startup, each HEX is an FPDU or other octets; what the
# peer then says, up to its end or $octets octets, which hold an answer's type and status, goes to $TMP/raw as hex.
octets=24
raw() {
	local port=$1 start=$2
	shift 2
	[[ $start == mpa ]] &&
		start=$(printf 'MPA ID Req Frame' | od -An -v -tx1 | tr -d ' \n')40010000
	# shellcheck disable=SC2016
	in_ns rcv timeout 30 bash -c '
		exec 3<>"/dev/tcp/127.0.0.1/$0" || exit
		say() { printf "$(sed "s/../\\\\x&/g" <<<"$1")" >&3; }
		say "$2"
		(($# > 2)) && timeout 10 head -c 20 <&3 >/dev/null
		for h in "${@:3}"; do say "$h"; done
		timeout 10 head -c "$1" <&3 | od -An -v -tx1 | tr -d " \n"' \
		"$port" "$octets" "$start" "$@" >"$TMP/raw" 2>/dev/null
	return 0
}

name_hex() { printf '%s' "$1" | od -An -v -tx1 | tr -d ' \n'; }
# offer NAME SIZE
offer() { printf '01020000000001a4%016x%04x%s' "$2" "${#1}" "$(name_hex "$1")"; }

# answered NAME TYPE STATUS: the first answer (FPDU length 2, DDP header 18) is of this type and status.
answered() {
	local got
	got=$(cut -c 41-48 "$TMP/raw")
	if [[ $got == "$2"02"$3" ]]; then
		pass "$1"
	else
		fail "$1" "answer $(<"$TMP/raw"); log: $(tail -n 3 "$TMP/serve.log")"
	fi
}

wire_up plain
printf 'abc' >"$TMP/small"
: >"$TMP/empty"
random_file "$TMP/one MiB ü" 1
random_file "$TMP/large" 40
chmod 644 "$TMP"/*
chmod 750 "$TMP/small"

# ---- help and usage
for c in load unload status serve put sink rping perf help; do
	expect "help-$c" sh -c "'$xiwarp' $c --help | grep -q '^Examples:'"
	expect "man-$c" sh -c "'$xiwarp' help --man | grep -q '^.SS $c'"
done
expect help-all sh -c "'$xiwarp' --help | grep -q '^Exit codes:'"
expect version-word sh -c "'$xiwarp' version | grep -Eqx 'xiwarp [0-9.]+'"
expect version-letter sh -c "'$xiwarp' -V | grep -Eqx 'xiwarp [0-9.]+'"
expect version sh -c "'$xiwarp' --version | grep -Eqx 'xiwarp [0-9.]+'"
refused no-command 2 "which command" "$xiwarp"
refused bad-command 2 "no command 'frob'" "$xiwarp" frob
refused bad-option 2 "--frob" "$xiwarp" put --frob a b
refused bad-early-option 2 "--frob" "$xiwarp" --frob put a b
refused bad-letter 2 "unknown option -x:" "$xiwarp" serve -xy
refused bad-letter-behind 2 "unknown option -Z:" "$xiwarp" rping -sZc
refused flag-value 2 "no value is taken by --force=x:" "$xiwarp" serve --force=x
refused no-value 2 "--listen" "$xiwarp" serve --listen
refused no-argument 2 "usage: xiwarp put" "$xiwarp" put
refused one-argument 2 "usage: xiwarp put" "$xiwarp" put x
refused much-argument 2 "'y'" "$xiwarp" serve x y
refused bad-path 2 "kernel or direct" "$xiwarp" sink --path up
refused bad-crc 2 "on or off" "$xiwarp" sink --crc maybe
for s in -1 0 x 1Q 99999999999999999999 1e3; do
	refused "bad-size-$s" 2 "--size" "$xiwarp" sink --size="$s"
done
refused bad-max-size 2 "--max-size" "$xiwarp" serve --max-size 0 "$TMP/none"
refused keep-free-nothing 1 "no directory" "$xiwarp" serve --keep-free 0 "$TMP/none"
refused bad-stag 2 "--stag" "$xiwarp" sink --stag 0x100000000
refused bad-queues 2 "--queues" "$xiwarp" sink --queues 0
refused bad-watch 2 "--watch" "$xiwarp" status --watch never
mkdir "$TMP/in"
refused bad-port 2 "port" "$xiwarp" serve --listen 127.0.0.1:70000 "$TMP/in"
refused bad-address 2 "[ADDRESS]:PORT" "$xiwarp" put "$TMP/small" "[::1"
refused bad-interface 2 "cannot be an interface" "$xiwarp" status ../x
refused output-full 1 "standard output" sh -c "'$xiwarp' --help >/dev/full"

# ---- what is not there
refused put-no-file 1 "nosuch" "$xiwarp" put "$TMP/nosuch" 127.0.0.1
refused put-refused 7 "refused" "$xiwarp" put "$TMP/small" 127.0.0.1:9
refused put-no-host 7 "cannot resolve" "$xiwarp" put "$TMP/small" nosuch.invalid
refused serve-no-dir 1 "no directory $TMP/none: make it" "$xiwarp" serve "$TMP/none"
expect serve-no-dir-stays test ! -e "$TMP/none"
refused serve-no-parent 1 "no directory" "$xiwarp" serve --create "$TMP/none/none"
refused sink-much 2 "usage: xiwarp sink" "$xiwarp" sink x
expect sink-usage sh -c "! '$xiwarp' sink x 2>&1 | grep -q ' \$'"
expect help-no-blanks sh -c "! { '$xiwarp' help --man; '$xiwarp' sink --help; } | grep ' \$'"
refused serve-no-right 3 "denied" "${nobody[@]}" "$xiwarp" serve /root
refused sink-no-dir 1 "cannot write to directory $TMP/none" "$xiwarp" sink --path kernel \
	--out "$TMP/none/x"
refused sink-no-right 3 "denied" "${nobody[@]}" "$xiwarp" sink --path kernel --out /root/x
refused listen-elsewhere 1 "no interface here" "$xiwarp" serve --listen 192.0.2.1 "$TMP/in"

# ---- files
serve
refused listen-twice 1 "in use" "$xiwarp" sink --path kernel
expect put-small put_ok "$TMP/small"
expect put-empty put_ok "$TMP/empty"
expect put-spaces put_ok "$TMP/one MiB ü"
expect put-large put_ok --sha256 "$TMP/large"
expect put-unprivileged in_ns rcv "${nobody[@]}" "$xiwarp" put "$TMP/one MiB ü" 127.0.0.1
expect report-equal grep -q '"octets":1048576,"digest_equal":true' "$TMP/serve.json"
expect report-digest grep -q "\"sha256\":\"$(sha256sum <"$TMP/large" | cut -d ' ' -f 1)\"" \
	"$TMP/serve.json"
# shellcheck disable=SC2016
refused put-report-lost 1 "standard output" sh -c '"$0" put --json "$1" 127.0.0.1 >/dev/full' \
	"$xiwarp" "$TMP/small"
rm -f "$TMP/in/small"
refused watch-lost 1 "standard output" sh -c "'$xiwarp' status --watch 1 >/dev/full"
refused put-exists 7 "exists" "$xiwarp" put "$TMP/one MiB ü" 127.0.0.1
expect put-exists-kept cmp "$TMP/one MiB ü" "$TMP/in/one MiB ü"
expect put-many put "$TMP/small" "$TMP/empty" "$TMP/large" 127.0.0.1:15044
expect put-many-last cmp "$TMP/large" "$TMP/in/large"
expect put-mode test "$(stat -c %a "$TMP/in/small")" = 750
rm -rf "${TMP:?}"/in/*
cp "$TMP/small" "$TMP/.hidden"
refused put-hidden 7 "visible" "$xiwarp" put "$TMP/.hidden" 127.0.0.1
refused put-directory 1 "not a regular file" "$xiwarp" put "$TMP" 127.0.0.1
refused put-no-size 1 "version has no size before it is read: send a copy of it" "$xiwarp" put \
	/proc/version 127.0.0.1
refused put-directory-slash 1 "$TMP/ is not a regular file" "$xiwarp" put "$TMP/" 127.0.0.1
# A file that cannot be sent does not stop the next one.
put "$TMP/.hidden" "$TMP/small" 127.0.0.1 >/dev/null 2>&1
expect put-goes-on cmp "$TMP/small" "$TMP/in/small"
expect put-v6 put "$TMP/large" "[::1]:15044"
expect put-v6-octets cmp "$TMP/large" "$TMP/in/large"
rm -rf "${TMP:?}"/in/*

# Names of any octets: JSON stays UTF-8, and a terminal is told nothing.
odd=$TMP/$'odd\xff\xc2\x9b"\\\xe2\x82\xed\xa0\x80é'
cp "$TMP/small" "$odd"
put --json "$odd" 127.0.0.1 >"$TMP/odd.json"
expect put-odd cmp "$odd" "$TMP/in/${odd##*/}"
refused put-odd-printable 7 'odd??"\?????é was refused' "$xiwarp" put "$odd" 127.0.0.1
tail -n 1 "$TMP/serve.json" >>"$TMP/odd.json"
expect odd-json-utf8 iconv -f UTF-8 -t UTF-8 "$TMP/odd.json"
expect odd-json grep -qF '"file":"odd??\"\\?????é"' "$TMP/odd.json"
rm -rf "$odd" "${TMP:?}"/in/*

pids=()
for i in 1 2 3 4; do
	cp "$TMP/large" "$TMP/large$i"
	spawn pid rcv "put$i" "$xiwarp" put "$TMP/large$i" ::1
	pids+=("$pid")
done
for i in 1 2 3 4; do
	reap "${pids[i - 1]}" 30 || fail "put-at-once-$i" "$(cat "$TMP/put$i")"
	expect "put-at-once-$i-octets" cmp "$TMP/large" "$TMP/in/large$i"
done
rm -f "$TMP"/large[1-4] "$TMP"/in/*

# ---- peers that are not what they should be
raw 15044 "$(printf '%040d' 0)"
expect garbage-startup serves
raw 15044 "$(name_hex 'GET / HTTP/1.1')0d0a0d0a"
expect garbage-http serves
octets=0 raw 15044 mpa deadbeefdeadbeefdeadbeef0000
expect garbage-fpdu serves
raw 15044 mpa "$(fpdu "$(untagged 1 "$(offer plain 0)")")"
answered offer-taken 02 0000
expect offer-dropped wait_until 10 nothing_left
for n in ../escape a/b .. . .hidden "" $'tab\t'; do
	raw 15044 mpa "$(fpdu "$(untagged 1 "$(offer "$n" 3)")")"
	answered "offer-name-${n@Q}" 02 0001
done
expect names-nothing-left wait_until 10 nothing_left
expect names-no-escape test ! -e "$TMP/escape"
raw 15044 mpa "$(fpdu "$(untagged 1 "$(offer huge $((1 << 62)))")")"
expect offer-huge-refused grep -Eq "^.{42}02000[34]" "$TMP/raw"
raw 15044 mpa "$(fpdu "$(untagged 1 "$(offer negative -1)")")"
answered offer-negative 02 0004
expect sizes-nothing-left wait_until 10 nothing_left
# Not a message of the protocol: name's length beyond the message; NUL inside; wrong version; no known digest; a GMAC
# without a key; out of turn.
for bad in 01020000000001a400000000000000030064616263 01020000000001a40000000000000003000361620063 \
	01030000000001a400000000000000030003616263 01020002000001a400000000000000030003616263 \
	01020001000001a400000000000000030003616263 03020000"$(printf '%064d' 0)" 04020000 00 ""; do
	raw 15044 mpa "$(fpdu "$(untagged 1 "$bad")")"
	if [[ -s $TMP/raw && $(cut -c 41-42 "$TMP/raw") == 02 ]]; then
		fail "message-$bad" "was granted: $(<"$TMP/raw")"
	else
		expect "message-$bad" serves
	fi
done
# The digest of no octets is not 0: the file must not appear.
octets=72 raw 15044 mpa "$(fpdu "$(untagged 1 "$(offer liar 0)")")" \
	"$(fpdu "$(untagged 2 03020000"$(printf '%064d' 0)")")"
expect wrong-digest-told grep -q 04020005 "$TMP/raw"
expect wrong-digest-reported grep -q '"file":"liar".*"digest_equal":false' "$TMP/serve.json"
expect wrong-digest-dropped wait_until 10 nothing_left
raw 15044 mpa "$(fpdu "$(untagged 1 "$(offer half 1000)")")" "$(fpdu "$(tagged 0x7777 0 616263)")"
expect wrong-stag serves
expect wrong-stag-dropped wait_until 10 nothing_left

# RFC 5042 section 6.2.2: the peer can no longer change the octets of a file after their digest.
late_write() {
	# shellcheck disable=SC2016
	local functions
	functions=$(declare -p crc_table; declare -f fpdu untagged tagged name_hex offer)
	in_ns rcv timeout 30 bash -c "$functions"'
		say() { printf "$(sed "s/../\\\\x&/g" <<<"$1")" >&3; }
		hear() { timeout 10 head -c "$1" <&3 | od -An -v -tx1 | tr -d " \n"; }
		exec 3<>/dev/tcp/127.0.0.1/15044 || exit
		say "$(name_hex "MPA ID Req Frame")40010000"
		hear 20 >/dev/null
		say "$(fpdu "$(untagged 1 "$(offer late 3)")")"
		grant=$(hear 48)
		stag=0x${grant:48:8} to=0x${grant:56:16}
		say "$(fpdu "$(tagged "$stag" "$to" 616263)")"
		say "$(fpdu "$(untagged 2 03020000"$(printf abc | sha256sum | cut -c 1-64)")")"
		result=$(hear 36)
		echo "granted $grant, result $result"
		[[ ${result:40:8} == 04020000 ]] || exit
		say "$(fpdu "$(tagged "$stag" "$to" 585858)")"
		# The end, and no answer.
		timeout 10 cat <&3 >/dev/null 2>&1
		(($? != 124))' && [[ $(<"$TMP/in/late") == abc ]] && rm "$TMP/in/late" && serves
}
expect late-write-refused late_write

# ---- signals
# 4 GiB, of which nothing is on the disk: long enough to be interrupted.
truncate -s 4G "$TMP/sparse"
spawn sender rcv put "$xiwarp" put "$TMP/sparse" 127.0.0.1
wait_until 10 moving || fail interrupt-begins "$(cat "$TMP/put")"
stop "$sender" INT
rc=$?
((rc == 130)) && pass put-interrupted || fail put-interrupted "exit code $rc: $(cat "$TMP/put")"
wait_until 5 nothing_left
expect put-interrupted-dropped nothing_left
expect put-interrupted-serves serves
spawn sender rcv put "$xiwarp" put "$TMP/sparse" 127.0.0.1
wait_until 10 moving
ends serve-terminated 143 TERM
reap "$sender" 10
rc=$?
((rc == 7)) && pass put-server-gone || fail put-server-gone "exit code $rc: $(cat "$TMP/put")"
serve
spawn sender rcv put "$xiwarp" put "$TMP/sparse" 127.0.0.1
wait_until 10 moving
ends serve-terminal-gone 129 HUP
reap "$sender" 10
rm -f "$TMP/sparse"
serve --force
expect force-first put "$TMP/large" 127.0.0.1
expect force-again put "$TMP/large" 127.0.0.1
expect force-octets cmp "$TMP/large" "$TMP/in/large"
mkdir "$TMP/in/small"
refused force-directory 7 "could not make the file" "$xiwarp" put "$TMP/small" 127.0.0.1
expect force-directory-told grep -q "did not keep 'small': .*: Is a directory" "$TMP/serve.log"
ends serve-interrupted 130 INT
# In the middle of a file, which is named.
serve
truncate -s 2G "$TMP/long"
moving() { in_ns rcv ss -Htni "dport = :15044" | grep -Eq 'bytes_acked:[0-9]{7}'; }
spawn sender rcv sender "$xiwarp" put "$TMP/long" 127.0.0.1
wait_until 10 moving
ends serve-interrupted-in-a-file 130 INT
expect serve-interrupted-named grep -Eq "did not keep 'long': stopped when .* of 2.0 GiB had come" \
	"$TMP/serve.log"
rm "$TMP/long"
serve --once
put "$TMP/small" 127.0.0.1 >/dev/null || fail once-put "exit code $?"
ends serve-once 0
serve --once
octets=0 raw 15044 mpa deadbeefdeadbeefdeadbeef0000
ends serve-once-bad-peer 7

serve --once
raw 15044 "$(name_hex 'GET / HTTP/1.1')0d0a0d0a0d0a0d0a0d0a0d0a"
ends serve-once-no-startup 7
expect startup-told grep -q "no connection: MPA error 4 " "$TMP/serve.log"

# A killed server leaves no file. The next one gets its port, although the kernel may still use it.
serve
for i in 1 2 3 4 5 6 7 8; do
	stop "$server" KILL
	spawn server rcv serve.log "$xiwarp" serve --path kernel "$TMP/in"
	wait_listen rcv 15044 || { fail "port-free-$i" "$(cat "$TMP/serve.log")"; break; }
done
# The listener that was seen may be that of the killed process, which the kernel closes a moment later.
expect port-free-after-kills wait_until 5 serves
truncate -s 4G "$TMP/sparse"
spawn sender rcv put "$xiwarp" put "$TMP/sparse" 127.0.0.1
wait_until 10 moving
stop "$server" KILL
reap "$sender" 10
expect killed-leaves-nothing nothing_left
# Without /proc, temporary files must have a name.
nameless() { # OPTION...
	spawn server rcv serve.log unshare --mount sh -c 'mount -t tmpfs none /proc && exec "$@"' \
		sh "$xiwarp" serve --path kernel "$@" "$TMP/in"
	wait_listen rcv 15044
}
part() { compgen -G "$TMP/in/.xiwarp-*.part" >"$TMP/part"; }
nameless
spawn sender rcv put "$xiwarp" put "$TMP/sparse" 127.0.0.1
expect named-part wait_until 10 part
stop "$sender"
expect named-dropped wait_until 5 nothing_left
expect named-put serves
spawn sender rcv put "$xiwarp" put "$TMP/sparse" 127.0.0.1
wait_until 10 part
spawn second rcv serve2.log "$xiwarp" serve --path kernel --listen :15045 "$TMP/in"
wait_listen rcv 15045
expect named-living-kept part
stop "$second"
stop "$server" KILL
reap "$sender" 10
expect named-left part
: >"$TMP/in/.xiwarp-0123456789abcdef.part.not" # not of that name
spawn server rcv serve.log "$xiwarp" serve --path kernel --force "$TMP/in"
wait_listen rcv 15044
expect named-swept test "$(ls -A "$TMP/in")" = .xiwarp-0123456789abcdef.part.not
rm -f "$TMP/in/.xiwarp-0123456789abcdef.part.not" "$TMP/sparse"
stop "$server"
rm -rf "$TMP/in"
spawn server rcv serve.log "$xiwarp" serve --path kernel --create "$TMP/in"
wait_listen rcv 15044
expect create serves
expect one-turn grep -Eq "small from .*: 3 B in [0-9.]+ [mu]?s, .* 0 hand-offs, GMAC equal" \
	"$TMP/serve.log"

# ---- reports that nobody reads any more: the command ends
stop "$server"
# shellcheck disable=SC2016
spawn server rcv serve.log sh \
	-c '{ "$0" serve --json --path kernel "$1"; echo "$?" >"$2"; } | true' "$xiwarp" "$TMP/in" \
	"$TMP/code"
wait_listen rcv 15044
put "$TMP/small" 127.0.0.1 >/dev/null
reap "$server" 10
expect dead-pipe-serve test "$(cat "$TMP/code")" = 1
# shellcheck disable=SC2016
dead_watch() { timeout 10 sh -c '{ "$0" status --watch 0.1 --json; echo "$?" >"$1"; } | head -n 1' \
	"$xiwarp" "$TMP/code"; }
dead_watch >/dev/null 2>&1
expect dead-pipe-watch test "$(cat "$TMP/code")" = 1

# ---- a peer that is none
connected() { [[ -n $(in_ns rcv ss -Htn "sport = :15046") ]]; }
# It takes the connection, says nothing, and ends.
mute() {
	spawn other rcv other "$BUILD/tests/net/lib/tcpcat" -l 15046
	wait_listen rcv 15046
	{ wait_until 5 connected; kill -INT "$other"; } 2>/dev/null &
}
mute
refused put-no-mpa 7 "127.0.0.1:15046, which does not speak MPA" "$xiwarp" put "$TMP/small" \
	127.0.0.1:15046
stop "$other"
mute
refused rping-no-mpa 7 "127.0.0.1:15046, which does not speak MPA" "$xiwarp" rping --path kernel \
	--rev 1 -c -a 127.0.0.1 -p 15046 -C 1
stop "$other"

# ---- a peer that is not there
refused put-nobody 7 "cannot connect to 127.0.0.1:15046: Connection refused: nobody" "$xiwarp" put \
	"$TMP/small" 127.0.0.1:15046
refused rping-nobody 7 "cannot connect to 127.0.0.1:15046: Connection refused" "$xiwarp" rping \
	--path kernel -c -a 127.0.0.1 -p 15046 -C 1
refused perf-nobody 7 "cannot connect to 127.0.0.1:15046: Connection refused" "$xiwarp" perf -t 1 \
	127.0.0.1:15046
refused put-no-way 7 "cannot connect to 192.0.2.1: Network is unreachable: no way" "$xiwarp" put \
	"$TMP/small" 192.0.2.1

# ---- a peer that takes connections and is no server of put
spawn other rcv other "$xiwarp" sink --path kernel --listen 127.0.0.1:15046
wait_listen rcv 15046
refused put-to-sink 7 "does not answer: is 'xiwarp serve' there?" "$xiwarp" put --peer-timeout 1 \
	"$TMP/small" 127.0.0.1:15046
stop "$other" INT

# ---- the line of progress stays one line, of whole characters
serve
truncate -s 600M "$TMP/sparse ü漢字漢字漢字漢字漢字漢字漢字 with a name that is long"
progress() { # COLUMNS
	rm -f "$TMP"/in/*
	in_ns rcv timeout 60 script -qefc "stty cols $1; '$xiwarp' put '$TMP'/sparse* 127.0.0.1" \
		/dev/null >"$TMP/progress" </dev/null || return
	sed 's/\x1b\[K//g' "$TMP/progress" | tr '\r' '\n' | grep -F ' %  ' >"$TMP/drawn" || return
	iconv -f UTF-8 -t UTF-8 "$TMP/drawn" >/dev/null || return
	(($(LC_ALL=C.UTF-8 wc -L <"$TMP/drawn") < $1))
}
for i in 40 80 100; do expect "progress-$i" progress "$i"; done
rm -f "$TMP"/sparse*
stop "$server"

# ---- sink
sink() { # OPTION...
	spawn server rcv serve.log sh -c 'exec "$@" >"$0"' "$TMP/sink.json" \
		"$xiwarp" sink --path kernel --json --once --stag 0x1234 --size 64K "$@"
	wait_listen rcv 15044 || fail sink-listens "$(cat "$TMP/serve.log")"
}
sink --out "$TMP/sink.out"
expect sink-example in_ns rcv "$BUILD/example_send" 127.0.0.1 15044 "some text"
ends sink-once 0
expect sink-out test "$(cat "$TMP/sink.out")" = "some text"
expect sink-report grep -q '"tagged_messages":1,"tagged_octets":9' "$TMP/sink.json"
sink --queues 2 --recv-size 8
octets=0 raw 15044 mpa "$(fpdu "$(untagged 1 6162)")" "$(fpdu "$(untagged 1 63 1)")" \
	"$(fpdu "$(tagged 0x1234 65533 616263)")"
ends sink-queues 0
counts='"fpdus":3,"messages":3,"tagged_messages":1,"tagged_octets":3,"untagged_messages":2,'
expect sink-queues-report grep -q "$counts\"untagged_octets\":3" "$TMP/sink.json"

# sink_error NAME TYPE CODE ULPDU: RFC 5041 section 7.2.
sink_error() {
	sink --queues 2 --recv-size 8
	raw 15044 mpa "$(fpdu "$4")"
	ends "$1" 7
	expect "$1-named" grep \
		-q "\"ddp_error\":true,\"ddp_error_type\":$2,\"ddp_error_code\":$3," \
		"$TMP/sink.json"
}
sink_error sink-stag 1 0 "$(tagged 0x1235 0 61)"
sink_error sink-bounds 1 1 "$(tagged 0x1234 65534 616263)"
sink_error sink-wrap 1 3 "$(tagged 0x1234 -1 6162)"
sink_error sink-qn 2 1 "$(untagged 1 61 2)"
sink_error sink-too-long 2 5 "$(untagged 1 616263646566676869)"
sink
raw 15044 mpa 0000000000000000
ends sink-crc 7
expect sink-crc-named grep -q '"mpa_error":2' "$TMP/sink.json"
finish
