#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 240
#
# `xiwarp perf`: every operation and measure on both paths, its reports, its picture, what it refuses, and peers that
# break its protocol. Figures are not judged.
. "${0%/*}/../lib/lib.sh"

xiwarp=$BUILD/xiwarp
server=

serve() { # OPTION...
	# shellcheck disable=SC2016
	spawn server rcv server.log sh -c 'exec "$@" >"$0"' "$TMP/server.json" \
		"$xiwarp" perf -s --json "$@"
	wait_listen rcv 15044 || fail serve-listens "$(cat "$TMP/server.log")"
}

# Each of the server's two engines has its queue, or a connection may come to the wrong one, and stay there.
shared_out() {
	(($(in_ns rcv "$xiwarp" status "$IF_RCV" | sed -n '/queues:/p' | grep -o 'engine [0-9]*' |
		sort -u | wc -l) == 2))
}

perf() { in_ns snd timeout 60 "$xiwarp" perf "$V4_RCV" -t 1 "$@"; }

# measured PATH RUNS OPTION...: the client succeeds, and its lines of JSON are such runs.
measured() {
	perf --json "${@:3}" >"$TMP/json" 2>"$TMP/err" || { cat "$TMP/err"; return 1; }
	python3 - "$TMP/json" "$@" <<-'PYTHON'
		import json, sys
		lines = [json.loads(line) for line in open(sys.argv[1])]
		path, runs, options = sys.argv[2], int(sys.argv[3]), sys.argv[4:]
		assert len(lines) == runs, lines
		for r in lines:
		    assert r["messages"] > 0 and r["seconds"] > 0 and not r["interrupted"], r
		    latency, both = "-l" in options, "-b" in options
		    assert r["both"] == both and (r["measure"] == "latency") == latency, r
		    assert r["client"]["cpu_ns"] > 0 and r["server"]["cpu_ns"] > 0, r
		    ways = 2 if latency and r["op"] != "Read" else 1
		    assert r["octets"] == r["messages"] * r["size"] * ways, r
		    # "threads" is a list, in reports of receivers.
		    assert all(r[e]["thread_count"] >= 1 and not "threads" in r[e]
		               for e in ("client", "server")), r
		    ends = [r["client"]] if r["op"] == "Read" else [r["server"]]
		    if both or (latency and r["op"] != "Read"):
		        ends = [r["client"], r["server"]]
		    for end in ends:
		        assert end["octets_direct"] + end["octets_kernel"] > 0, r
		        # A run may begin on the kernel path, and losses lead back to it for a moment.
		        share = end["direct_share"]
		        assert share == 0 if path == "kernel" else share > 0.5, r
		        assert (end["no_direct"] != "") == (path == "kernel"), r
		    if path == "kernel":
		        assert "kernel path" in r["why"], r
		    if latency:
		        t = r["round_trip"]
		        order = [t[k] for k in ("min_us", "p50_us", "p99_us", "p99_9_us", "max_us")]
		        assert order == sorted(order) and order[0] > 0, r
		        assert t["count"] == r["messages"], r
		    assert r["intervals"] and all(i["messages"] >= 0 for i in r["intervals"]), r
	PYTHON
}

files=$(ulimit -Hn)
[[ $files == unlimited || $files -gt 8192 ]] && files=8192
ulimit -n "$files"
wire_up plain 1500 2 || exit 1
wire_clamp 65536
# A connection whose segments change their queue may come to another thread.
set_sysctl snd net.core.txrehash 0
set_sysctl rcv net.core.txrehash 0
for path in kernel direct; do
	if [[ $path == direct ]]; then
		load_patient rcv
		load_patient snd
	fi
	serve
	[[ $path == kernel ]] || expect queues-before-listening shared_out
	for op in write send read; do
		expect "$op-$path" measured $path 1 -o $op
		expect "$op-latency-$path" measured $path 1 -o $op -l
		expect "$op-both-$path" measured $path 1 -o $op -b -n 3 -d 7 --threads 2
	done
	expect "sizes-$path" measured $path 3 -o send -S 1,1500,3M -d 1000
	stop "$server" INT
	rc=$?
	if ((rc == 130)); then pass "server-ends-$path"; else
		fail "server-ends-$path" "exit code $rc: $(cat "$TMP/server.log")"
	fi
	# A line for each connection: nine runs, of which three have three, and one of three sizes.
	expect "server-reports-$path" python3 -c '
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
lines = [line for line in lines if not "threads" in line] # the sum of several threads
assert len(lines) == 16, len(lines)
assert all(line["role"] == "server" and line["error"] == "" for line in lines), lines
' "$TMP/server.json"
done

# ---- more connections than a listener lets one client have in MPA startup
serve
if ((files < 8192)); then
	skip many "the limit on open files is $files, not 8192"
else
	many() { perf -n 2500 -S 64 -d 1 >"$TMP/text" && grep -q '2500 connections' "$TMP/text"; }
	expect many many
fi
stop "$server" INT

# ---- reports
serve
text() { perf "$@" >"$TMP/text" && cat "$TMP/text"; }
throughput() {
	text -t 2 && (($(grep -c ' messages/s$' "$TMP/text") == 2)) &&
		grep -Eq '^Write of 64.0 KiB, depth 64, 1 connection, .* [GM]bit/s, ' "$TMP/text" &&
		grep -Eq '^  client: [0-9.]+ ns of CPU per octet' "$TMP/text" &&
		grep -Eq '^  server: [0-9.]+ ns of CPU per octet.*% direct' "$TMP/text"
}
expect text throughput
round_trips() { text -l -i 0 && grep -Eq 'p50 [0-9.]+ us, p99 .*p99.9 .*max ' "$TMP/text"; }
expect text-latency round_trips
picture() { # OPTION...
	rm -f "$TMP/x.svg"
	perf -S 64,4K --plot "$TMP/x.svg" "$@" >/dev/null || return
	python3 - "$TMP/x.svg" <<-'PYTHON'
		import sys, xml.etree.ElementTree as tree
		svg = "{http://www.w3.org/2000/svg}"
		root = tree.parse(sys.argv[1]).getroot()
		assert root.tag == svg + "svg"
		lines = root.findall(svg + "polyline")
		assert len(lines) == 2, lines
		for line in lines:
		    points = [tuple(map(float, p.split(","))) for p in line.get("points").split()]
		    assert points
		    assert all(0 <= x <= 800 and 0 <= y <= 420 for x, y in points), points
	PYTHON
}
expect plot picture
expect plot-latency picture -l
# A picture takes the place of what was there only when there is one.
keeps_picture() {
	printf 'mine' >"$TMP/mine.svg"
	! in_ns snd "$xiwarp" perf "$V4_RCV:9" --plot "$TMP/mine.svg" >/dev/null 2>&1 &&
		[[ $(<"$TMP/mine.svg") == mine ]]
}
expect plot-kept keeps_picture
# A link that another user has put into a public directory is replaced, and its target kept.
keeps_target() {
	echo secret >"$TMP/secret"
	mkdir -m 1777 "$TMP/public"
	setpriv --reuid 65534 --regid 65534 --clear-groups ln -s "$TMP/secret" "$TMP/public/x.svg"
	perf -S 64 --plot "$TMP/public/x.svg" >/dev/null || return
	[[ ! -L $TMP/public/x.svg && -s $TMP/public/x.svg && $(<"$TMP/secret") == secret ]]
}
expect plot-not-through-link keeps_target

# ---- ends
# Ten million octets of a client's are acknowledged: it is measuring.
measures() {
	in_ns snd ss -Htni state established "dport = :15044" | grep -Eq 'bytes_acked:[0-9]{8}'
}
interrupted() {
	local pid rc
	# shellcheck disable=SC2016
	spawn pid snd client sh -c 'exec "$@" >"$0"' "$TMP/client.json" \
		"$xiwarp" perf "$V4_RCV" -t 60 --json "$@"
	wait_until 20 measures || echo "it does not begin"
	stop "$pid" INT
	rc=$?
	cat "$TMP/client"
	[[ $rc == 130 && $(wc -l <"$TMP/client.json") == 1 ]] &&
		grep -q '"interrupted":true' "$TMP/client.json" &&
		! grep -q '"messages":0,"messages_per_s"' "$TMP/client.json"
}
expect interrupted interrupted
expect interrupted-latency interrupted -l
expect interrupted-many interrupted -b -n 4 --threads 2 -o send

# The server ends in the middle: the client says so.
spawn client snd client "$xiwarp" perf "$V4_RCV" -t 60 -i 0
wait_until 20 measures || fail killed "the client does not begin"
stop "$server" KILL
reap "$client" 20
rc=$?
expect killed test "$rc" = 7
expect killed-told grep -Eq "^xiwarp: $V4_RCV:15044: the (peer closed|connection failed)" \
	"$TMP/client"
serve --once
expect once perf -S 64,4K -n 2
reap "$server" 10
rc=$?
((rc == 0)) && pass once-ends || fail once-ends "exit code $rc: $(cat "$TMP/server.log")"

# A client that stands still holds its memory no longer than --idle.
serve --idle 1
spawn client snd client "$xiwarp" perf "$V4_RCV" -t 60 -i 0
wait_until 20 measures || fail idle "the client does not begin"
kill -STOP "$client"
expect idle wait_until 20 grep -q "sent too little for too long" "$TMP"/server.{json,log}
kill -CONT "$client"
reap "$client" 20
rc=$?
expect idle-told test "$rc" = 7
expect idle-goes-on measured auto 1 -o send
stop "$server"

# ---- clients that break the protocol
for path in kernel direct; do
	serve --path $path --memory 1G
	expect "hostile-$path" in_ns snd timeout 100 "${0%/*}/perf_hostile.py" "$V4_RCV" 15044
	expect "hostile-$path-goes-on" measured $path 1 -o send
	stop "$server"
	rc=$?
	if ((rc == 143)); then pass "hostile-$path-ends"; else
		fail "hostile-$path-ends" "exit code $rc: $(tail -n 20 "$TMP/server.log")"
	fi
	expect "hostile-$path-told" grep -q "the client broke the protocol" "$TMP/server.json"
done

# ---- what is refused
refused neither 2 "one of --server and HOST" "$xiwarp" perf
refused both-sides 2 "one of --server and HOST" "$xiwarp" perf -s 127.0.0.1
refused latency-both 2 "exclude each other" "$xiwarp" perf 127.0.0.1 -l -b
for o in op=send latency size=64 depth=3 connections=5 time=1 interval=1 both plot=x.svg; do
	refused "server-${o%=*}" 2 "--${o%=*} is for the client" "$xiwarp" perf -s "--$o"
done
refused client-listen 2 "for the server" "$xiwarp" perf 127.0.0.1 --once
refused bad-op 2 "write, send or read" "$xiwarp" perf 127.0.0.1 -o push
for s in 0 1,,2 2G 1x "" "$(printf '1,%.0s' {1..32})1"; do
	refused "bad-size-$s" 2 "--size" "$xiwarp" perf 127.0.0.1 "--size=$s"
done
refused bad-depth 2 "from 1 to 1024" "$xiwarp" perf 127.0.0.1 -d 1025
refused bad-connections 2 "from 1 to 4096" "$xiwarp" perf 127.0.0.1 -n 0
refused bad-time 2 "--time" "$xiwarp" perf 127.0.0.1 -t 0
refused plot-nowhere 1 "cannot write to directory $TMP/none" \
	"$xiwarp" perf 127.0.0.1 --plot "$TMP/none/x.svg"
refused nobody-there 7 "refused" "$xiwarp" perf 127.0.0.1
# What this host lacks is not said of the server, and is named with its remedy.
serve --path kernel
refused few-descriptors 1 \
	"cannot connect to 127.0.0.1:15044: Too many open files: raise the limit on open files" \
	prlimit --nofile=20:20 "$xiwarp" perf -t 1 -n 64 127.0.0.1
stop "$server"
refused no-host 7 "cannot resolve" "$xiwarp" perf nosuch.invalid
finish
