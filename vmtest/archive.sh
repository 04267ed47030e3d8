# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# For scripts that unpack packages of Debian's archive without installing them. Packages are fetched into
# $XIW_BUILD/vmtest/kernels/packages and checked against the archive's signed index. Sets `root` and `kernels`, and
# holds a lock: if several runs begin at once, only one fetches.
#
#   index SUITE                      gets the suite's index
#   stanza SUITE PACKAGE FIELD       prints a field of a package
#   latest SUITE PATTERN             prints the matching package with the highest version
#   unpack SUITE PACKAGE DIRECTORY   fetches and unpacks a package
#   die WORDS                        ends the script with 1
#
# VMTEST_MIRROR: a mirror to use instead of apt's.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
kernels=${XIW_BUILD:-$root/build}/vmtest/kernels
mirror=$("$root/tests/mirror")
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
PATH=$PATH:/usr/sbin:/sbin

die() {
	echo "vmtest: $*" >&2
	exit 1
}

get() { # PATH FILE
	curl -sfL --retry 3 --max-time 600 -o "$2.part" "$mirror/$1" ||
		die "cannot fetch $mirror/$1"
	mv "$2.part" "$2"
}

matches() { # FILE SHA256
	[[ -e $1 && $(sha256sum <"$1") == "$2  -" ]]
}

# index SUITE: gets its Packages file and checks the signature. Downloads it once a day.
index() {
	local suite=$1 at=$kernels/packages/$1 want
	[[ -e $at.Packages && -n $(find "$at.Packages" -mtime -1) ]] && return
	echo "  index of $suite" >&2
	get "dists/$suite/InRelease" "$at.InRelease"
	gpgv -q --keyring "$keyring" --output "$at.Release" "$at.InRelease" 2>"$at.gpgv" ||
		[[ -s $at.Release && $(<"$at.gpgv") == *"Good signature"* ]] ||
		die "the index of $suite is not signed by the archive: $(<"$at.gpgv")"
	want=$(awk '/^SHA256:/ { on = 1 }
		on && $3 == "main/binary-amd64/Packages.xz" { print $1; exit }' "$at.Release")
	get "dists/$suite/main/binary-amd64/Packages.xz" "$at.Packages.xz"
	matches "$at.Packages.xz" "$want" || die "the index of $suite does not match its signature"
	xz -dkfc "$at.Packages.xz" >"$at.Packages"
}

# stanza SUITE PACKAGE FIELD
stanza() {
	awk -v p="$2" -v f="$3:" '
		$1 == "Package:" { on = $2 == p }
		on && $1 == f { sub(/^[^ ]* /, ""); print; exit }' "$kernels/packages/$1.Packages"
}

# latest SUITE PATTERN: the matching package with the highest version.
latest() {
	sed -n 's/^Package: //p' "$kernels/packages/$1.Packages" | grep -E "$2" | sort -Vu |
		tail -n 1
}

# unpack SUITE PACKAGE DIRECTORY
unpack() {
	local path deb sha
	path=$(stanza "$1" "$2" Filename)
	[[ -n $path ]] || die "$1 has no package $2"
	sha=$(stanza "$1" "$2" SHA256)
	deb=$kernels/packages/${path##*/}
	if ! matches "$deb" "$sha"; then
		echo "  ${path##*/}" >&2
		get "$path" "$deb"
		matches "$deb" "$sha" || die "$deb does not match the index of $1"
	fi
	dpkg-deb -x "$deb" "$3" || die "cannot unpack $deb"
}

[[ -n $mirror ]] || die "apt has no Debian mirror: set VMTEST_MIRROR"
mkdir -p "$kernels/packages"
exec 9>"$kernels/lock"
flock 9
