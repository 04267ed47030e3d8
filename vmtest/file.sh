# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Files from the peer to the VM, for scenarios with a NIC. They are compared by digest, over IPv4 and IPv6.
#
#   receive_files COUNT OPTION...   in guest(): serve with these options; sets json, the file with the reports, and
#                                   areas, the KiB of each part of its memory
#   direct_above PERCENT            checks that more octets came on the direct path; prints SHARE
#   send_files COUNT MIB            in peer()
json=$RESULTS/serve.json

receive_files() {
	local server i
	mkdir -p /tmp/in
	"$BUILD/xiwarp" serve --json "${@:2}" /tmp/in >"$json" 2>"$RESULTS/serve.log" &
	server=$!
	listening 15044
	say serving
	for ((i = 1; i <= $1; i++)); do
		meet "put-$i" 240 || break
	done
	sleep 1
	areas=$(awk '/^Size:/ { print $2 }' "/proc/$server/smaps")
	"$BUILD/xiwarp" status
	kill -INT $server
	wait $server
	cat "$RESULTS/serve.log" "$json"
	expect digests [ "$(grep -c '"digest_equal":true' "$json")" = "$1" ]
}

# Not all octets: on an emulated machine the engine sometimes stands still for longer than the watchdog allows.
direct_above() {
	local share octets='"octets_direct":\([0-9]*\),"octets_kernel":\([0-9]*\)'
	share=$(sed -n "s/^{\"file\".*$octets.*/\1 \2/p" "$json" | awk '
		{ direct += $1; all += $1 + $2 }
		END { if (all) printf "%.1f", 100 * direct / all }')
	echo "SHARE $share %"
	expect "direct-above-$1" awk -v share="$share" -v least="$1" \
		'BEGIN { exit !(share > least) }'
}

send_files() {
	local i to
	meet serving 120
	for ((i = 1; i <= $1; i++)); do
		head -c $(($2 << 20)) /dev/urandom >"$RESULTS/file-$i"
		((i % 2)) && to=$V4_GUEST || to=[$V6_GUEST]
		patiently 120 "$BUILD/xiwarp" put "$RESULTS/file-$i" "$to"
		say "put-$i" $?
		rm "$RESULTS/file-$i"
	done
}
