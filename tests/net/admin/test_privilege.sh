#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Privilege: the table in the man page is true, row by row; a receiver keeps what the table says and no more; other
# users cannot use the pins; and a local user without privilege can neither read nor steer connections. timeout: 180
#
# The script runs in a mount namespace of its own, where a new BPF file system, which is writable for all, replaces that
# of the host.
if [[ -z ${XIW_UNSHARED:-} && $EUID == 0 ]]; then
	XIW_UNSHARED=1 exec unshare --mount --propagation unchanged -- bash "$0"
fi
. "${0%/*}/../lib/lib.sh"

# Copies, because other users may have no access to the build directory.
xiwarp=$TMP/xiwarp hostile=$TMP/privilege as=$TMP/as
install -m 755 "$BUILD/xiwarp" "$BUILD"/tests/net/{admin/privilege,lib/sendto} "$TMP"
base=/sys/fs/bpf/xiwarp
pins=$base/$IF_RCV
server=0 sender=0
_mount_bpffs
if ! mount --make-private /sys/fs/bpf || ! mount -t bpf bpf /sys/fs/bpf; then
	fail bpffs "cannot be mounted" # and the host's is not ours to empty
	finish
fi
chmod 755 "$TMP"
printf 'abc' >"$TMP/small"
chmod 644 "$TMP/small"

# as CAPS CMD...: an ordinary user with exactly these, "CAP_A, CAP_B" or "none". A program, so that it can be
# given to others.
cat >"$as" <<'EOF'
#!/bin/bash
set=-all
for w in ${1//[, ]/ }; do
	[[ $w == none ]] || { w=${w,,}; set+=,+${w#cap_}; }
done
shift
exec prlimit --memlock="${memlock:-8388608}" setpriv --reuid=65534 --regid=65534 --clear-groups \
	--inh-caps="$set" --ambient-caps="$set" --bounding-set="$set" "$@"
EOF
chmod 755 "$as"
nobody() { in_ns rcv "$as" none "$@"; }
words() { tr -s ', ' '\n' <<<"${1/none/}" | grep .; }
without() { words "$2" | grep -vx "$1" | paste -sd, | grep . || echo none; }

xdp_of() { in_ns rcv ip -d link show dev "$IF_RCV" | sed -n 's/.*prog\/xdp id \([0-9]*\).*/\1/p'; }
bare() { [[ -z $(xdp_of) && ! -e $pins ]]; }
loaded() { [[ -n $(xdp_of) ]]; }
load() { in_ns rcv "$xiwarp" load "$IF_RCV" >/dev/null; }
unload() { in_ns rcv "$xiwarp" unload "$IF_RCV" >/dev/null; }
# Owned by root, and not empty, so that it is not removed with the last interface.
root_base() { rm -rf "$base" && mkdir -m 700 "$base" && mkdir -m 700 "$base/other"; }

# ---- receivers

# receive CAPS COMMAND OPTION...: serve, sink, rping or perf, in the background, as an ordinary user, or as root where
# CAPS is `root`. Its report goes to $TMP/json, its words to $TMP/receiver.
receive() {
	local who=("$as" "$1") what=("$2")
	[[ $1 == root ]] && who=()
	shift 2
	rm -rf "$TMP/in"
	mkdir "$TMP/in"
	chown "${owner:-65534}" "$TMP/in"
	case ${what[0]} in
	serve) set -- "$@" "$TMP/in" ;;
	sink) what+=(--stag 0x1234) ;;
	perf) what+=(-s) ;;
	*) what+=(-s -P) ;;
	esac
	: >"$TMP/json"
	rm -f "$TMP/receiver"
	# shellcheck disable=SC2016
	spawn server rcv receiver sh -c 'exec "$@" >"$0"' "$TMP/json" \
		"${who[@]}" "$xiwarp" "${what[@]}" --json "$@"
	# The receiver prints a line when it has dropped the privileges that it does not keep.
	wait_until 10 grep -qsE '^xiwarp: (serving|(sink|(rping|perf) server) on) ' \
		"$TMP/receiver" ||
		fail "${what[0]}-begins" "$(cat "$TMP/receiver")"
}

# send COMMAND [OPTION...]: sends what the receiver takes, as nobody. -w FILE: goes on until the file exists.
send() {
	if [[ $1 == serve ]]; then
		in_ns snd timeout 20 "$as" none "$xiwarp" put "$TMP/small" "$V4_RCV" >/dev/null
	elif [[ $1 == rping ]]; then
		in_ns snd timeout 20 "$as" none "$xiwarp" rping -c -a "$V4_RCV" -C 20 -S 9999 \
			-V >/dev/null
	elif [[ $1 == perf ]]; then
		in_ns snd timeout 20 "$as" none "$xiwarp" perf "$V4_RCV" -t 1 >/dev/null
	else
		in_ns snd timeout 20 "$as" none "$TMP/sendto" -t 1M "$V4_RCV" 15044 >/dev/null
	fi
}

# live NAME ADDRESS: a connection that stays on the direct path, until its sender is told to end.
live() {
	rm -f "$TMP/enough"
	spawn sender snd sender "$BUILD/tests/net/lib/sendto" -w "$TMP/enough" "$2" 15044
	if wait_until 10 direct; then pass "$1"; else fail "$1" \
		"$(cat "$TMP/sender" "$TMP/receiver")"; fi
}
direct() { in_ns rcv "$xiwarp" status "$IF_RCV" --json | grep -q '"path":"direct"'; }
# ended NAME PID CODE: the process ends, or is ended, with this exit code.
ended() {
	local rc
	if [[ $2 == "$server" ]]; then stop "$2"; else reap "$2" 20; fi
	rc=$?
	if ((rc == $3)); then pass "$1"; else fail "$1" \
		"exit code $rc: $(cat "$TMP/receiver" "$TMP/sender")"; fi
}
end_live() { # NAME
	touch "$TMP/enough"
	ended "$1-sender" "$sender" 0
	ended "$1-receiver" "$server" 143
}

# mask CAPS: as /proc shows it.
mask() {
	local -A bit=([CAP_DAC_OVERRIDE]=1 [CAP_DAC_READ_SEARCH]=2 [CAP_NET_ADMIN]=12
		[CAP_NET_RAW]=13 [CAP_IPC_LOCK]=14 [CAP_PERFMON]=38 [CAP_BPF]=39)
	local w n=0
	for w in $(words "$1"); do ((n |= 1 << bit[$w])); done
	printf '%016x' "$n"
}

# keeps PID CAPS [BOUNDING]: every thread has these capabilities, none to inherit, and cannot get more.
keeps() {
	local status want
	want=$(mask "$2")
	for status in /proc/"$1"/task/*/status; do
		if ! awk -v want="$want" -v bnd="${3:+$(mask "${3:-}")}" '
			/^(CapEff|CapPrm):/ { bad += $2 != want }
			/^(CapInh|CapAmb):/ { bad += $2 != "0000000000000000" }
			/^CapBnd:/ && bnd { bad += $2 != bnd }
			/^NoNewPrivs:/ { bad += $2 != 1 }
			END { exit bad > 0 }' "$status"; then
			grep -E '^(Name|Cap|NoNew)' "$status"
			return 1
		fi
	done
}

# A program that it started would inherit no descriptor but the standard ones.
close_on_exec() {
	local f flags to n=0
	for f in /proc/"$1"/fdinfo/*; do
		to=$(readlink "/proc/$1/fd/${f##*/}")
		# A file or pipe is its standard input or output.
		[[ ${f##*/} == [012] || $to == /* || $to == pipe:* ]] && continue
		flags=$(awk '/^flags:/ { print $2 }' "$f")
		((n++, 8#$flags & 8#2000000)) || { echo "descriptor ${f##*/}: $to"; return 1; }
	done
	((n > 8))
}

wire_up plain
wire_clamp 262144

# ---- the table, and README's service, which has the capabilities of its row
# Rows of `| command | path | needs | keeps |`, as the man page has them.
"$xiwarp" help --man | sed -n '/^.SH PRIVILEGE/,/^.SH EXIT/p' | awk '/^\\fB/ {
	command = $1
	gsub(/\\f[BR]|,/, "", command)
	path = $2 == "path" ? $3 : "-"
	getline needs
	keeps = "none"
	if (match(needs, /; keeps /)) {
		keeps = substr(needs, RSTART + RLENGTH)
		needs = substr(needs, 1, RSTART - 1)
	}
	print "| " command " | " path " | " needs " | " keeps " |"
}' >"$TMP/table"
mapfile -t rows <"$TMP/table"
readme_service() {
	local key row
	row=$(words "$(sed -n 's/^| serve | direct | \([^|]*\) |.*/\1/p' "$TMP/table")" | sort)
	for key in AmbientCapabilities CapabilityBoundingSet; do
		[[ $(words "$(sed -n "s/^$key=//p" "$ROOT/README.md")" | sort) == "$row" ]] ||
			return
	done
}
expect readme-service readme_service
expect table-complete test "$(cut -d '|' -f 2 "$TMP/table" | sort -u | paste -sd, | tr -d ' ')" \
	= load,perf,put,rping,serve,sink,status,unload

in_help() { # CMD PATH NEEDS
	local path=$2
	[[ $path == - ]] && path=
	"$xiwarp" "$1" --help | sed -n '/^Privilege:/,/^$/p' |
		grep -qxF "$(printf '  %-6s %s' "$path" "$3")"
}

# ---- each row: these are enough, and none is too much
row_load() { # NEEDS
	local cap
	for cap in $(words "$1"); do
		root_base
		refused "load-without-$cap" 3 "$cap" "$as" "$(without "$cap" "$1")" "$xiwarp" load \
			"$IF_RCV"
		expect "load-without-$cap-bare" bare
	done
	root_base
	expect load-row in_ns rcv "$as" "$1" "$xiwarp" load "$IF_RCV"
	expect load-row-loaded loaded
	unload
}

row_unload() {
	local cap
	root_base
	load
	for cap in $(words "$1"); do
		refused "unload-without-$cap" 3 "$cap" "$as" "$(without "$cap" "$1")" "$xiwarp" \
			unload "$IF_RCV"
		expect "unload-without-$cap-loaded" loaded
	done
	expect unload-row in_ns rcv "$as" "$1" "$xiwarp" unload "$IF_RCV"
	expect unload-row-bare bare
}

row_status() {
	local cap
	load
	for cap in $(words "$1"); do
		refused "status-without-$cap" 3 "$cap" "$as" "$(without "$cap" "$1")" "$xiwarp" \
			status "$IF_RCV"
	done
	expect status-row in_ns rcv "$as" "$1" "$xiwarp" status "$IF_RCV"
	expect status-accuses test -z "$(in_ns rcv "$as" "$1" "$xiwarp" status | grep 'no TC')"
	unload
}

# A receiver goes on without the direct path and says why. With --path direct it does not start.
row_direct() { # COMMAND NEEDS KEEPS
	local cap out=()
	load
	[[ $1 == serve ]] && out=("$TMP/in")
	[[ $1 == rping || $1 == perf ]] && out=(-s)
	for cap in $(words "$2"); do
		receive "$(without "$cap" "$2")" "$1" --path auto
		expect "$1-without-$cap-says" grep -q "no direct path: .*$cap is missing" \
			"$TMP/receiver"
		expect "$1-without-$cap-keeps" keeps "$server" none
		expect "$1-without-$cap-works" send "$1"
		ended "$1-without-$cap-ends" "$server" 143
		expect "$1-without-$cap-reports" grep -q "\"no_direct\":\"[^\"]*$cap is missing" \
			"$TMP/json"
		refused "$1-without-$cap" 3 "$cap" "$as" "$(without "$cap" "$2")" "$xiwarp" "$1" \
			--path direct "${out[@]}"
	done
	receive "$2" "$1" --path direct
	if [[ $1 == sink ]]; then
		live sink-row "$V4_RCV"
		expect sink-row-keeps keeps "$server" "$3"
		expect sink-row-close-on-exec close_on_exec "$server"
		# The same user without these capabilities has no more rights than any other user.
		expect sink-row-shut nobody "$hostile" pry "$server"
		end_live sink-row
	else
		expect "$1-row" send "$1"
		expect "$1-row-keeps" keeps "$server" "$3"
		ended "$1-row-ends" "$server" 143
	fi
	expect "$1-row-direct" grep -q '"no_direct":""' "$TMP/json"
	unload
}

row_kernel() { # COMMAND NEEDS KEEPS
	load
	receive "$2" "$1" --path kernel
	expect "$1-kernel-row" send "$1"
	expect "$1-kernel-row-keeps" keeps "$server" "$3"
	ended "$1-kernel-row-ends" "$server" 143
	unload
}

moving() { in_ns snd ss -Htni "dport = :15044" | grep -Eq 'bytes_acked:[0-9]{6}'; }
row_put() { # NEEDS
	receive none serve --path kernel
	expect put-row in_ns snd "$as" "$1" "$xiwarp" put "$TMP/small" "$V4_RCV"
	# A receiver of root keeps the capabilities that it needs to read the files.
	truncate -s 4G "$TMP/sparse"
	spawn sender snd sender "$xiwarp" put "$TMP/sparse" "$V4_RCV"
	wait_until 10 grep -q '^NoNewPrivs:.1' "/proc/$sender/status"
	wait_until 10 moving
	expect put-root-keeps keeps "$sender" CAP_DAC_READ_SEARCH CAP_DAC_READ_SEARCH
	stop "$sender"
	stop "$server"
	rm -f "$TMP/sparse"
}

rm -rf "$base"
for row in "${rows[@]}"; do
	IFS='|' read -r _ cmd path needs keeps _ <<<"$row"
	cmd=${cmd// /} path=${path// /} needs=${needs# } needs=${needs% }
	expect "help-$cmd-$path" in_help "$cmd" "$path" "$needs"
	case $cmd-$path in
	load--) row_load "$needs" ;;
	unload--) row_unload "$needs" ;;
	status--) row_status "$needs" ;;
	serve-direct | sink-direct | rping-direct | perf-direct)
		row_direct "$cmd" "$needs" "$keeps"
		;;
	serve-kernel | sink-kernel | rping-kernel | perf-kernel)
		row_kernel "$cmd" "$needs" "$keeps"
		;;
	put-kernel) row_put "$needs" ;;
	*) fail "row $cmd $path" "has no test" ;;
	esac
done

# ---- what stands for a capability
root_base
load
receiver_needs=$(sed -n 's/^| sink | direct | \([^|]*\) |.*/\1/p' "$TMP/table")
if prlimit --memlock=33554432 true 2>/dev/null; then
	memlock=33554432 receive "$(without CAP_IPC_LOCK "$receiver_needs")" sink --path direct
	live memlock-direct "$V4_RCV"
	end_live memlock
else
	skip memlock-direct "the memlock limit cannot be raised"
fi
# Pins that were given to a user, and still serve root.
chown -R 65534:65534 "$pins"
chmod 711 "$base"
receive "$(without CAP_DAC_OVERRIDE "$receiver_needs")" sink --path direct
live given-direct "$V4_RCV"
expect given-root-status in_ns rcv "$xiwarp" status "$IF_RCV"
end_live given
expect given-root-unload unload

# ---- root's receiver: as little, and no way back
root_base
(umask 0 && load)
receive root sink
live root-direct "$V4_RCV"
expect root-keeps keeps "$server" CAP_NET_ADMIN CAP_NET_ADMIN

# ---- meanwhile, pins are closed, whatever the umask, and BPF open or not
closed() {
	local f
	[[ $(stat -c '%a %u' "$base" "$pins") == $'700 0\n700 0' ]] || return
	for f in "$pins"/xiw_*; do [[ $(stat -c '%a %u' "$f") == '600 0' ]] || return; done
}
# Where users may not create namespaces, one attack is impossible.
nobody unshare --user --map-root-user true 2>/dev/null && user_ns=1
own_ns() {
	if [[ -n ${user_ns:-} ]]; then
		nobody unshare --user --map-root-user --net --mount -- "$@"
	else
		nobody "$@"
	fi
}
no_list() { ! nobody ls "$pins" && ! nobody ls "$base" && ! own_ns ls "$base"; }
files=("$base" "$pins" "$pins"/xiw_*)
bpf_open=$(</proc/sys/kernel/unprivileged_bpf_disabled)
at_end sh -c "echo $bpf_open >/proc/sys/kernel/unprivileged_bpf_disabled"
expect pins-closed closed
expect pins-no-list no_list
for i in 2 0; do
	# 1 cannot be taken back: then it is 1 that is tested.
	echo "$i" 2>/dev/null >/proc/sys/kernel/unprivileged_bpf_disabled
	expect "pins-refused-$i" nobody "$hostile" maps "${files[@]}"
	expect "pins-refused-namespace-$i" own_ns "$hostile" maps "${files[@]}"
done
echo "$bpf_open" >/proc/sys/kernel/unprivileged_bpf_disabled
expect process-shut nobody "$hostile" pry "$server"
expect process-shut-namespace own_ns "$hostile" pry "$server"
expect sockets-refused nobody "$hostile" sockets

# ---- nor can connections be steered
port=$(in_ns rcv "$xiwarp" status "$IF_RCV" --json |
	sed -n 's/.*"remote":"[^"]*:\([0-9]*\)".*/\1/p')
expect tuple-taken nobody "$hostile" tuple "$V4_RCV" 15044 "$V4_SND" "$port"
# IPv4 refuses another host's address as a source.
nobody "$hostile" forge "$V4_SND" "$port" "$V4_RCV" 15044 >"$TMP/forge"
expect forge-v4 grep -q '^connect:' "$TMP/forge"
end_live root

# IPv6 takes any source: a SYN with the connection's addresses arrives over lo. Without our filter the socket answers.
challenges() { in_ns rcv nstat -asz TcpExtTCPSYNChallenge | awk 'END { print $2 }'; }
forged() { # ROUNDS: every SYN is sent
	for ((i = 0; i < $1; i++)); do
		nobody "$hostile" forge "$V6_SND" "$port" "$V6_RCV" 15044 || return
	done
}
v6_port() { in_ns rcv ss -Htn "sport = :15044" | grep -o '[0-9]* *$' | tr -d ' '; }
receive root sink --path kernel
spawn sender snd sender "$BUILD/tests/net/lib/sendto" -w "$TMP/enough-kernel" "$V6_RCV" 15044
wait_until 10 sh -c "nsenter --net=/run/netns/$(_ns rcv) ss -Htn 'sport = :15044' | grep -q ESTAB"
port=$(v6_port) before=$(challenges)
expect forge-v6 forged 1
expect forge-v6-answered test "$(challenges)" -gt "$before"
touch "$TMP/enough-kernel"
ended forge-v6-sender "$sender" 0
ended forge-v6-receiver "$server" 143
receive root sink --path direct
live forge-direct "$V6_RCV"
port=$(v6_port) before=$(challenges)
expect forge-direct-sent forged 3
expect forge-direct-dropped test "$(challenges)" = "$before"
expect forge-direct-tuple nobody "$hostile" tuple "$V6_RCV" 15044 "$V6_SND" "$port"
end_live forge-direct
expect forge-direct-orderly grep -q '"mpa_error":0,"ddp_error":false' "$TMP/json"
unload

# ---- what others have made is not used, and not touched
untrusted() { # NAME WORDS
	refused "load-$1" 1 "$2" "$xiwarp" load "$IF_RCV"
	expect "load-$1-bare" test -z "$(xdp_of)"
	refused "serve-$1" 1 "$2" "$xiwarp" serve --path direct "$TMP"
	refused "unload-$1" 1 "$2" "$xiwarp" unload "$IF_RCV"
	refused "status-$1" 1 "somebody else" "$xiwarp" status "$IF_RCV"
}
rm -rf "$base"
nobody mkdir "$base" "$pins"
untrusted others-base "$base is user 65534's"
rm -rf "$base"
nobody mkdir -p /sys/fs/bpf/elsewhere/"$IF_RCV"
nobody ln -s /sys/fs/bpf/elsewhere "$base"
untrusted link "$base is a symbolic link"
expect link-untouched test -d /sys/fs/bpf/elsewhere/"$IF_RCV"
rm -rf "$base" /sys/fs/bpf/elsewhere
mkdir -m 1777 "$base"
nobody mkdir "$pins"
untrusted others-pins "$pins is user 65534's"
rmdir "$pins"
mkdir -m 700 "$pins"
chmod 777 "$base"
untrusted open-base "$base: others can write there"
chmod 700 "$base"
chmod 770 "$pins"
untrusted open-pins "$pins: others can write there"
rm -rf "$base"

# ---- files
mkdir -m 1777 "$TMP/public"
echo secret >"$TMP/secret"
nobody ln -s "$TMP/secret" "$TMP/public/out"
nobody ln -s "$TMP/secret" "$TMP/public/small"
untouched() { [[ $(<"$TMP/secret") == secret ]]; }
receive root sink --path kernel --once --out "$TMP/public/out"
send sink
reap "$server" 10 || fail out-ends "$(cat "$TMP/receiver")"
expect out-not-through-link test ! -L "$TMP/public/out" -a -s "$TMP/public/out"
expect out-untouched untouched
receive root sink --path kernel --once --out "$TMP/public/other"
nobody ln -s "$TMP/secret" "$TMP/public/other.$server.part"
send sink
reap "$server" 10
expect out-part-refused grep -q 'cannot write .*File exists' "$TMP/receiver"
expect out-part-untouched untouched
spawn server rcv receiver "$xiwarp" serve --path kernel "$TMP/public"
wait_listen rcv 15044
refused serve-link-refused 7 exists "$xiwarp" put "$TMP/small" 127.0.0.1
stop "$server"
spawn server rcv receiver "$xiwarp" serve --path kernel --force "$TMP/public"
wait_listen rcv 15044
expect serve-link-replaced send serve
expect serve-link-replaced-octets cmp "$TMP/small" "$TMP/public/small"
expect serve-link-untouched untouched
stop "$server"
# A directory into which root can write only with CAP_DAC_OVERRIDE.
owner=65534 receive root serve --path kernel
chmod 755 "$TMP/in"
expect override-said grep -q 'keeps CAP_DAC_OVERRIDE' "$TMP/receiver"
expect override-kept keeps "$server" CAP_DAC_OVERRIDE CAP_DAC_OVERRIDE
expect override-works send serve
ended override-ends "$server" 143
# The same for a service that has the capability and is not root, and for a file that only root may read.
owner=0 receive CAP_DAC_OVERRIDE serve --path kernel
chmod 755 "$TMP/in"
expect service-override-said grep -q 'keeps CAP_DAC_OVERRIDE' "$TMP/receiver"
install -m 600 "$TMP/small" "$TMP/secret"
expect service-put in_ns snd timeout 20 "$as" CAP_DAC_READ_SEARCH "$xiwarp" put "$TMP/secret" \
	"$V4_RCV"
expect service-put-octets cmp "$TMP/secret" "$TMP/in/secret"
ended service-override-ends "$server" 143

# ---- other failures that a person can cause
rm -rf "$base"
receive root sink --path auto
expect late-said grep -q "no direct path: .*'xiwarp load IF'" "$TMP/receiver"
load
expect late-goes-on send sink
ended late-ends "$server" 143
expect late-told grep -q '"no_direct":"[^"]*start this process again' "$TMP/json"
unload
refused port-below-1024 3 CAP_NET_BIND_SERVICE "$as" none "$xiwarp" sink --listen 0.0.0.0:80
# Another program is attached, and the caller has no right to restore it.
in_ns rcv bpftool prog load "$BUILD/tests/net/lib/wire.bpf.o" /sys/fs/bpf/another type xdp
in_ns rcv bpftool net attach xdpdrv pinned /sys/fs/bpf/another dev "$IF_RCV"
another=$(xdp_of)
root_base
load_needs=$(sed -n 's/^| load | - | \([^|]*\) |.*/\1/p' "$TMP/table")
refused replace-needs-more 3 CAP_SYS_ADMIN "$as" "$load_needs" "$xiwarp" load "$IF_RCV" --replace
expect replace-untouched test "$(xdp_of)" = "$another"
in_ns rcv bpftool net detach xdpdrv dev "$IF_RCV"
finish
