# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Debian's programs of RDMA, unmodified, over siw at one end of siw_up's wire, and over the library that `xiwarp run`
# preloads at the other. A scenario sources this behind vmtest/siw.sh and calls the lists below.
#
#   programs_up                     the wire, and a directory for the programs
#   cm; bandwidth SIZE...; latency SIZE...; files; fabric      the programs
#   shares                          prints SHARE, for the table: of what is held to 95 %, and of the rest
#
# A case NAME-siw-serves has its server over siw and its client over ours, NAME-ours-serves the other way round: $roles.
# Both programs must end well, as they do only if the octets that they compare are right. Who is ours and received more
# than 1 MiB must have received $least per cent of it by the direct path. A case that the pattern $cannot names may
# fail. If both have said $over, their exit codes do not count.
. tests/net/programs/direct.sh

roles=(siw ours ours siw) least=95 cannot="" over=""

programs_up() {
	# Memory that siw pins counts against this limit, with Linux 6.1 even for root.
	ulimit -l unlimited
	siw_up
	mkdir -p /tmp/programs
}

# LOG SIDE SECONDS WORD...: starts a program in the background, with its pid in $pid.
_start() {
	local log=$1 limit=$(($3 * XIW_PATIENCE)) command=()
	if [[ $2 == ours ]]; then
		command=(nsenter --net=/run/netns/ours -- timeout -k 5 "$limit" "$BUILD/xiwarp" run
			--report --send-first --if ours0 --)
	else
		command=(timeout -k 5 "$limit")
	fi
	(cd /tmp/programs && exec "${command[@]}" "${@:4}") >"$log" 2>&1 &
	pid=$!
}

_free() { # PORT [PREFIX]
	local i
	for ((i = 0; i < 300; i++)); do
		[[ -n $($2 ss -Htln "sport = :$1") ]] || return 0
		sleep 0.1
	done
	return 1
}

# NAME WHY: one that may fail says so; another one has failed.
_bad() {
	# shellcheck disable=SC2053
	if [[ $1 == $cannot ]]; then
		skip "$1" "fails: $2"
	else
		fail "$@"
	fi
}

# LOG...: does none of them lack $over?
_over() {
	[[ $over && -z $(grep -L "$over" "$@") ]]
}

# NAME RC-OF-CLIENT RC-OF-SERVER LOGS
_judge() {
	local server=$4-server client=$4-client
	if (($2 || $3)) && ! _over "$server" "$client"; then
		_bad "$1" "exit codes: client $2, server $3"
		tail -n 8 "$client" "$server"
		echo
	elif ! direct_enough "$server" "$least" || ! direct_enough "$client" "$least"; then
		fail "$1" "$(grep -h 'xiwarp: ' "$server" "$client")"
	else
		received "$server" "$client" >>"$RESULTS/least-$least"
		pass "$1$(received "$server" "$client" | sed 's/\(.*\) \(.*\)/, \1 octets, \2 %/')"
	fi
}

# LOG: perftest's server stops listening and listens again for its second connection. Where siw's client comes between,
# TCP refuses it, and that client then dies: it uses an identifier that it has destroyed (README.md).
_too_early() {
	grep -q '^ERRNO: Connection refused' "$1"
}

# NAME TRY: siw may send an FPDU with a wrong CRC by a fault of its own (README.md), and ours must then end the stream.
# Only the wire shows whose fault it was. Says so, and keeps the capture.
_wrong_crc() {
	local found
	[[ $watcher ]] || return 1
	found=$("$BUILD/tests/siw/wire_crc" "$wire" 10.88.0.1)
	(($? == 1)) || return 1
	skip "$1-try-$2" "siw sent a wrong CRC, another try: ${found%%$'\n'*}"
	cp "$wire" "$RESULTS/$1-try-$2.pcap"
}

# SIDE SIDE: captures what siw sends to ours.
_watch() {
	local i
	watcher=
	[[ $1 != "$2" ]] || return
	tcpdump -i sw0 -s 0 -B 32768 -U -w "$wire" tcp >"$wire.log" 2>&1 &
	watcher=$!
	for ((i = 0; i < 300; i++)); do
		grep -q '^tcpdump: listening' "$wire.log" && break
		sleep 0.1
	done
}

# The same as _once(). What failed for one of these faults of siw has another try, or two.
_one() {
	local try logs=$RESULTS/$1 wire=/tmp/wire.pcap watcher client_rc server_rc
	for try in 1 2 3; do
		_watch "${@:5:2}"
		_once "$@"
		[[ $watcher ]] && kill "$watcher" && wait "$watcher"
		((try < 3 && (client_rc || server_rc))) || break
		if [[ $6 == siw ]] && _too_early "$logs-client"; then
			echo "AGAIN $1: the client came too early"
		else
			_wrong_crc "$1" "$try" || break
		fi
	done
	_judge "$1" "$client_rc" "$server_rc" "$logs"
}

# NAME PORT SERVER CLIENT SIDE-OF-SERVER SIDE-OF-CLIENT: in the commands, @ is the server's address. A server whose port
# begins with + goes on until it is stopped. Sets $client_rc and $server_rc.
_once() {
	local port=${2#+} at=10.88.0.1 server pid prefix=""
	[[ $5 == ours ]] && at=10.88.0.2 prefix=in_ours
	_free "$port" "$prefix" || fail "$1" "somebody listens on port $port"
	# The commands are words of ours, without blanks in them.
	# shellcheck disable=SC2086
	_start "$logs-server" "$5" 15 ${3//@/$at}
	server=$pid server_rc=0
	listening "$port" $prefix
	# shellcheck disable=SC2086
	_start "$logs-client" "$6" 12 ${4//@/$at}
	wait "$pid"
	client_rc=$?
	if [[ $2 == +* || ($client_rc != 0 && ! $over) ]]; then
		kill -INT "$server" 2>/dev/null
		wait "$server"
	else
		ended "$server"
		server_rc=$?
	fi
}

# both NAME PORT SERVER CLIENT: in all roles.
both() {
	local i
	for ((i = 0; i < ${#roles[@]}; i += 2)); do
		_one "$1-${roles[i]}-serves" "${@:2:3}" "${roles[@]:i:2}"
	done
}

# READER NAME PORT SERVER CLIENT: one whose server or client reads. Of what siw answers to Reads little comes by the
# direct path (README.md, `misaligned`).
reading() {
	local i least reader=0
	[[ $1 == client ]] && reader=1
	for ((i = 0; i < ${#roles[@]}; i += 2)); do
		least=95
		[[ ${roles[i + reader]} == ours ]] && least=0
		_one "$2-${roles[i]}-serves" "${@:3:3}" "${roles[@]:i:2}"
	done
}

# Who serves reads what the client has, and writes it back.
cm() {
	local size
	for size in 64 65000; do
		reading server "rping-$size" 7174 "rping -s -a @ -V -S $size -C 50" \
			"rping -c -a @ -V -S $size -C 50"
	done
	both rdma_client 7471 rdma_server "rdma_client -s @"
	both ucmatose 7471 "ucmatose -c 3 -C 20 -S 4000" "ucmatose -s @ -c 3 -C 20 -S 4000"
	both cmtime +7471 cmtime "cmtime -s @ -c 50"
}

# SIZE...: each message has a completion (-Q 1), so that siw sends it in whole FPDUs.
bandwidth() {
	local size options
	for size; do
		options="-R -F -Q 1 -n $((size > 65536 ? 20 : 100)) -s $size"
		both "ib_write_bw-$size" 18515 "ib_write_bw $options" "ib_write_bw $options @"
		both "ib_send_bw-$size" 18515 "ib_send_bw $options" "ib_send_bw $options @"
		reading client "ib_read_bw-$size" 18515 "ib_read_bw $options" \
			"ib_read_bw $options @"
	done
}

# SIZE...
latency() {
	local size options
	for size; do
		options="-R -F -n $((size > 65536 ? 20 : 100)) -s $size"
		both "ib_write_lat-$size" 18515 "ib_write_lat $options" "ib_write_lat $options @"
		both "ib_send_lat-$size" 18515 "ib_send_lat $options" "ib_send_lat $options @"
		reading client "ib_read_lat-$size" 18515 "ib_read_lat $options" \
			"ib_read_lat $options @"
	done
}

# The server checks a header and a checksum in each block; but with verb=read, fio has the client read, and checks
# nothing.
files() {
	local verb at job=('[job]' ioengine=rdma thread=1 bs=64k size=8m iodepth=8 port=7801)
	for verb in write read send; do
		printf '%s\n' "${job[@]}" rw=read verify=crc32c >"/tmp/programs/$verb.server"
		for at in 10.88.0.1 10.88.0.2; do
			printf '%s\n' "${job[@]}" rw=write verify=crc32c do_verify=0 \
				"hostname=$at" "verb=$verb" >"/tmp/programs/$verb.$at"
		done
	done
	both fio-write 7801 "fio write.server" "fio write.@"
	reading client fio-read 7801 "fio read.server" "fio read.@"
	# Without flow control Sends find no buffer, and wait on the kernel path: under emulation, often.
	least=0 both fio-send 7801 "fio send.server" "fio send.@"
}

fabric() {
	both fi_pingpong-msg 47592 "fi_pingpong -p verbs -e msg -c" \
		"fi_pingpong -p verbs -e msg -c @"
	# Of long messages, ofi_rxm tells the other end, which reads them. When all is done, libfabric's provider fails
	# or dies now and then, as the other end has closed what it still uses.
	least=0 over='^1m .*=10' both fi_pingpong-rdm 47592 \
		"fi_pingpong -p verbs;ofi_rxm -e rdm -c" "fi_pingpong -p verbs;ofi_rxm -e rdm -c @"
}

shares() {
	local file
	for file in least-95 least-0; do
		awk '{ direct += $1 * $2; all += $1 }
			END { printf "%.1f\n", direct / (all + !all) }' "$RESULTS/$file"
	done | paste -sd' ' | sed 's/\(.*\) \(.*\)/SHARE \1 %, of Reads and what waits \2 %/'
}
