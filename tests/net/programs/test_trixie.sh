#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 2400
#
# The libraries as they are built here, loaded by programs of Debian 13 (trixie): rdma-core 56, perftest 25 and
# libfabric 2.1, whose structures are larger than those of the headers here. Both ends run in a root directory that
# debootstrap makes in $BUILD/trixie, once, of some 250 MB of packages: so `make programs` alone makes it.
# VMTEST_MIRROR: a mirror to use instead of apt's.
. "${0%/*}/../lib/lib.sh"
. "${0%/*}/programs.sh"

root=$BUILD/trixie
packages=rdma-core,ibverbs-providers,rdmacm-utils,ibverbs-utils,perftest,fio
packages+=,libfabric-bin,libfabric1,libxdp1,libbpf1,liburing2,libjson-c5,libssl3t64

if [[ $BUILD == */san ]]; then
	skip trixie "AddressSanitizer's library is another one there"
	finish
fi
if [[ ! -d $root && -z ${XIW_DOWNLOADS:-} ]]; then
	skip trixie "it fetches 250 MB of Debian's packages: make programs does"
	finish
fi
if ! "$ROOT/tests/root" trixie "$root" "$packages" 2>"$TMP/why"; then
	skip trixie "$(<"$TMP/why")"
	finish
fi

# Everything is mounted for one process alone, and goes with it.
cat >"$TMP/inside" <<'END'
#!/bin/sh -e
for dir in proc sys dev; do
	mount --rbind "/$dir" "$ROOT/$dir"
done
for dir in "$BUILD" "$TMP"; do
	mkdir -p "$ROOT$dir"
	mount --bind "$dir" "$ROOT$dir"
done
exec chroot "$ROOT" "$@"
END
chmod +x "$TMP/inside"
export ROOT=$root BUILD TMP
inside=(unshare -m "$TMP/inside")

version() {
	chroot "$root" dpkg-query -W -f '${Version}' "$1"
}

# by verbs|xiwarp NAME SERVER PORT CLIENT: over the preloaded library, or by our provider.
by() {
	if [[ $1 == verbs ]]; then
		rcv=("${inside[@]}" "$xiwarp" run --report --if "$IF_RCV" --)
		snd=("${inside[@]}" "$xiwarp" run --report --if "$IF_SND" --)
	else
		rcv=("${inside[@]}" env "FI_PROVIDER_PATH=$BUILD/fi" XIWARP_REPORT=1)
		snd=("${rcv[@]}")
	fi
	both "${@:2}"
}

# libfabric's verbs provider may tell of its last message as flushed although it came, as in test_fabric.sh.
cat >"$TMP/but_for_the_end" <<'END'
#!/bin/bash
out=$("$@" 2>&1) rc=$?
echo "$out"
((rc == 125)) && grep -q '^1m .*=50' <<<"$out" &&
	! grep error <<<"$out" | grep -qv 'Flushed Error' && rc=0
exit "$rc"
END
chmod +x "$TMP/but_for_the_end"

pingpong() { # verbs|xiwarp msg|rdm PROVIDER [WRAPPER]
	local pingpong="${4:-} fi_pingpong -c -I 50 -e $2 -p $3"
	by "$1" "$1-pingpong-$2" "$pingpong" 47592 "$pingpong $V4_RCV"
}

fio_jobs() {
	printf '%s\n' '[job]' ioengine=rdma thread=1 port=7801 rw=read bs=64k size=8m iodepth=8 \
		verify=crc32c >"$TMP/server.fio"
	printf '%s\n' '[job]' ioengine=rdma thread=1 port=7801 rw=write bs=64k size=8m iodepth=8 \
		verify=crc32c do_verify=0 "hostname=$V4_RCV" "verb=$1" >"$TMP/client.fio"
}

# libfabric leaves out a provider that is older than what the program asks for.
offered() {
	in_ns rcv "${inside[@]}" env "FI_PROVIDER_PATH=$BUILD/fi" fi_info -p xiwarp >"$TMP/info" &&
		cat "$TMP/info" && grep -q "domain: $IF_RCV" "$TMP/info" &&
		grep -q "xiwarp;ofi_rxm" "$TMP/info"
}

# Who does not ask for it gets what he had.
not_first() {
	in_ns rcv "${inside[@]}" env "FI_PROVIDER_PATH=+$BUILD/libxiw-fi.so" fi_info >"$TMP/info"
	cat "$TMP/info" && head -n 1 "$TMP/info" | grep -qv xiwarp && grep -q xiwarp "$TMP/info"
}

wire_up plain 1500 1 || exit 1
wire_clamp 262144
load_both || exit 1
mkdir -p "$BUILD/fi" && cp "$BUILD/libxiw-fi.so" "$BUILD/fi/" || exit 1
echo "rdma-core $(version rdma-core), perftest $(version perftest), libfabric $(version libfabric1)"

by verbs rping "rping -s -C 20 -V -a $V4_RCV" 7174 "rping -c -C 20 -V -a $V4_RCV"
for size in 2 65536 1048576; do
	for program in ib_write_bw ib_read_bw ib_send_bw; do
		by verbs "$program-$size" "$program -R -F -n 100 -s $size" 18515 \
			"$program -R -F -n 100 -s $size $V4_RCV"
	done
done
for program in ib_send_lat ib_write_lat ib_read_lat; do
	by verbs "$program" "$program -R -F -n 100 -s 64" 18515 \
		"$program -R -F -n 100 -s 64 $V4_RCV"
done
pingpong verbs msg verbs
pingpong verbs rdm 'verbs;ofi_rxm' "$TMP/but_for_the_end"
expect offered offered
expect not-first not_first
pingpong xiwarp msg xiwarp
pingpong xiwarp rdm 'xiwarp;ofi_rxm'
# Programs and provider were built for libfabric 1.17, and ask 2.1 for all that it has.
fabric=$BUILD/tests/net/programs/fabric
expect alone in_ns rcv "${inside[@]}" env "FI_PROVIDER_PATH=$BUILD/fi" "$fabric" local "$V4_RCV"
by xiwarp application "$fabric serve $V4_RCV 15777" 15777 "$fabric connect $V4_RCV 15777"
for verb in write read send; do
	fio_jobs "$verb"
	by verbs "fio-$verb" "fio $TMP/server.fio" 7801 "fio $TMP/client.fio"
done
finish
