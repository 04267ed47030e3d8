#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Peers that make one mistake each (garbage.c), against `xiwarp sink` on both paths. The sink reports each connection
# once with the RFC's error, and ends it. Another connection that sends meanwhile loses nothing, and the sink keeps
# running.
# timeout: 180
. "${0%/*}/../lib/lib.sh"

xiwarp=$BUILD/xiwarp tests=$BUILD/tests/net
mib=1048576
size=$((32 * mib)) good_size=$((4 * mib)) bad_at=$((16 * mib))
declare -A port=([kernel]=15044 [direct]=15045) from=([kernel]=20000 [direct]=20100) sink good \
	silent
stop_file=$TMP/stop

# Case, and its error: code of RFC 5044 section 8, then type.code of RFC 5041 section 7.2; - is none. After an error in
# the startup frames there is no stream, so that no path is expected.
startup_cases='
startup-random    4 -
startup-reply     4 -
startup-rev0      4 -
startup-rev3      4 -
startup-private   4 -
startup-half      1 -'
# In the last case ULPDU_Length is too large for a ULPDU (RFC 5044 section 3): framing is lost; code 3 is the nearest.
stream_cases='
random            2 -
bad-crc           2 -
unknown-stag      - 1.0
out-of-bounds     - 1.1
to-wrap           - 1.3
version-tagged    - 1.4
invalid-qn        - 2.1
no-buffer         - 2.2
msn-range         - 2.3
message-offset    - 2.4
too-long          - 2.5
version-untagged  - 2.6
short-header      - 0.0
length-0          - 0.0
half-fpdu         1 -
reset-between     1 -
reset-within      1 -
length-65535      3 -'

# field_of TEXT KEY
field_of() {
	sed -n "s/.*\"$2\": *\"\{0,1\}\([^,}\"]*\).*/\1/p" <<<"$1"
}

# lines PATH PEER: what the sink says about it, on standard output and on standard error.
lines() {
	cat "$TMP/json-$1" "$TMP/sink-$1" | grep -F "$2" | grep -E "[\" ]${2//[][.]/.}[\": ]"
}

reported() {
	[[ -n $(lines "$1" "$2") ]]
}

# error_of LINE: "MPA DDP" as in the tables.
error_of() {
	local mpa ddp=-
	if [[ $1 == *'"peer"'* ]]; then
		mpa=$(field_of "$1" mpa_error)
		[[ $(field_of "$1" ddp_error) == true ]] &&
			ddp=$(field_of "$1" ddp_error_type).$(field_of "$1" ddp_error_code)
	else
		# The line for people tells it in words.
		mpa=$(sed -n -e 's/.*MPA error \([0-9]*\).*/\1/p' \
			-e 's/.*closed before MPA startup.*/1/p' \
			-e 's/.*did not complete MPA startup.*/4/p' <<<"$1")
	fi
	[[ $mpa == 0 ]] && mpa=-
	echo "${mpa:--} $ddp"
}

# judge PATH CASE EXPECTED
judge() {
	local path=$1 name=$1-$2 expected=$3 peer line octets
	peer=$(field_of "$(cat "$TMP/peer-$name")" local)
	if [[ -z $peer ]] || ! wait_until 5 reported "$path" "$peer"; then
		fail "$name" "no report; the peer: $(cat "$TMP/peer-$name")"
		return 1
	fi
	line=$(lines "$path" "$peer")
	if (($(wc -l <<<"$line") != 1)); then
		fail "$name" "more than one line: $line"
	elif [[ $(error_of "$line") != "$expected" ]]; then
		fail "$name" "error $(error_of "$line"), not $expected: $line"
	elif [[ $2 != startup-* && $2 != silent ]]; then
		# Everything before the mistake was taken, by the expected path; or by both, if the machine stopped
		# the sink for so long that the watchdog gave the stream to the kernel.
		octets=$(field_of "$line" "octets_$path")
		if [[ $path == direct && $line == *'"left_direct":{"watchdog":1}'* ]]; then
			((octets += $(field_of "$line" octets_kernel), stood_still++))
		fi
		if ((octets < 20000)); then
			fail "$name" "$octets octets by the $path path: $line"
		else
			pass "$name"
		fi
	else
		pass "$name"
	fi
}

# misbehave PATH CASE EXPECTED
misbehave() {
	local pid rc
	spawn pid snd "peer-$1-$2" "$tests/peer/garbage" "$2" "$V4_RCV" "${port[$1]}" 0x1234 $size \
		$bad_at $((from[$1] + peers))
	reap "$pid" 20
	rc=$?
	if ((rc)); then
		fail "$1-$2" "the peer: exit code $rc: $(cat "$TMP/peer-$1-$2")"
		return
	fi
	judge "$1" "$2" "$3"
}

open_sink() {
	local pid
	spawn pid rcv "sink-$1" sh -c "exec '$xiwarp' sink --json --path $1 --stag 0x1234 \
		--size $size --out '$TMP/out-$1' --listen $V4_RCV:${port[$1]} >'$TMP/json-$1'"
	sink[$1]=$pid
	if ! wait_listen rcv "${port[$1]}"; then
		fail "$1" "nobody listens: $(cat "$TMP/sink-$1")"
		exit 1
	fi
	spawn pid snd "good-$1" "$tests/lib/sendto" -S 42 -t $good_size -w "$stop_file" \
		-o "$TMP/want-$1" "$V4_RCV" "${port[$1]}"
	good[$1]=$pid
	spawn pid snd "peer-$1-silent" "$tests/peer/garbage" silent "$V4_RCV" "${port[$1]}" 0x1234 \
		$size 0 "${from[$1]}"
	silent[$1]=$pid
}

# The other connection delivered everything and nothing else, and ended orderly.
close_sink() {
	local line octets sent rc
	reap "${good[$1]}" 10
	rc=$?
	((rc)) && fail "$1-good" "exit code $rc: $(cat "$TMP/good-$1")"
	wait_until 5 grep -q '"socket_error":""' "$TMP/json-$1"
	line=$(grep '"socket_error":""' "$TMP/json-$1")
	octets=$(($(field_of "$line" octets_direct) + $(field_of "$line" octets_kernel)))
	sent=$(field_of "$(grep tagged "$TMP/good-$1")" tagged_octets)
	expect "$1-good-complete" [ "$octets" = "$sent" ]
	expect "$1-good-no-error" [ "$(error_of "$line") $(field_of "$line" crc_errors)" = "- - 0" ]
	expect "$1-good-path" awk \
		"BEGIN { exit !($(field_of "$line" "octets_$1") >= 0.95 * $octets) }"
	expect "$1-good-content" cmp -n $good_size "$TMP/want-$1" "$TMP/out-$1"
	expect "$1-nothing-else" cmp -n $((bad_at - good_size)) -i $good_size:0 "$TMP/out-$1" \
		/dev/zero
	kill -0 "${sink[$1]}" 2>/dev/null
	rc=$?
	stop "${sink[$1]}" INT
	expect "$1-lives" [ "$rc $?" = "0 130" ]
	expect "$1-one-line-each" [ "$(cat "$TMP/json-$1" "$TMP/sink-$1" | grep -c "$V4_SND")" = \
		"$peers" ]
}

wire_up plain
load_patient rcv || fail load "exit code $?"
for path in kernel direct; do
	open_sink $path
done
peers=2 stood_still=0
while read -r name mpa ddp; do
	[[ -n $name ]] || continue
	((peers++))
	for path in kernel direct; do
		misbehave $path "$name" "$mpa $ddp"
	done
done <<<"$startup_cases$stream_cases"

# crc_errors PATH: how often the receiver found the bad CRC.
crc_errors() {
	field_of "$(lines "$1" "$(field_of "$(cat "$TMP/peer-$1-bad-crc")" local)")" crc_errors
}

# On the direct path a segment with a bad CRC is dropped as if it were lost (RFC 5044 section 8), some times. On the
# kernel path TCP has taken it, and it does not come again.
expect direct-bad-crc-resent [ "$(crc_errors direct)" -ge 3 ]
expect kernel-bad-crc-at-once [ "$(crc_errors kernel)" = 1 ]

for path in kernel direct; do
	reap "${silent[$path]}" 15
	# No Request comes in time (RFC 5044 section 7.1.2 rule 8).
	judge $path silent "4 -"
done
expect direct-by-itself [ $stood_still -le 3 ]
touch "$stop_file"
for path in kernel direct; do
	close_sink $path
done
in_ns rcv "$xiwarp" unload "$IF_RCV" >/dev/null || fail unload "exit code $?"
finish
