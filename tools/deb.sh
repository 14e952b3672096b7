#!/bin/sh
# The Debian package minifut_VERSION_ARCH.deb, made by dpkg-deb from what install.sh installs; root is not needed.
#   usage: deb.sh MINIFUT MANUALS FOLDER RUNTIME...    (prints the package's path; needs dpkg-dev)
# Built twice from the same files it is the same, byte for byte: its times are those of its version in CHANGELOG.md.
set -eu
cd "$(dirname "$0")/.."
umask 022
minifut=$1
manuals=$2
to=$3
shift 3
root=$to/root
doc=$root/usr/share/doc/minifut
version=$(cat VERSION)
arch=$(dpkg --print-architecture)
maintainer='minifut developers <minifut@localhost>'

# Of "## 0.9.0 (November 2026)": "0.9.0 November 2026". Some tell the day, too.
releases() { sed -nE 's/^## ([^ ]+) \((.*)\)$/\1 \2/p' CHANGELOG.md; }

# When a version is from. A month alone is its first day for files, which are never from the future, and its last day for the
# changelog, where it comes behind the month's other versions.
day() { # version, first|last, format
    when=$(releases | sed -n "s/^$1 //p")
    case $when in
    [0-9]*) ;;
    *) when="1 $when"
       [ "$2" = first ] || when="$when +1 month -1 day" ;;
    esac
    LC_ALL=C date -u -d "$when" "$3"
}

SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(day "$version" first +%s)}
export SOURCE_DATE_EPOCH

# CHANGELOG.md as Debian writes it, in lines of 80 columns: a native package has no other changelog.
entry() { # version
    printf 'minifut (%s) unstable; urgency=medium\n' "$1"
    awk -v v="$1" '
        function item() {
            line = "  *"
            n = split(text, word, " ")
            for (i = 1; i <= n; i++) {
                if (length(line) + length(word[i]) > 78) { print line; line = "   " }
                line = line " " word[i]
            }
            if (n) print line
            text = ""
        }
        BEGIN { print "" }
        /^## / { inside = $2 == v; next }
        !inside { next }
        /^- / { item(); text = substr($0, 3); next }
        /^  / { text = text $0; next }
        /./ { item(); print (heads++ ? "\n" : "") "  [ " $0 " ]" }
        END { item() }' CHANGELOG.md
    printf '\n -- %s  %s\n\n' "$maintainer" "$(day "$1" last '+%a, %d %b %Y %H:%M:%S +0000')"
}
changelog() { releases | while read -r release _; do entry "$release"; done; }

copyright() {
    printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: minifut\n\n'
    printf 'Files: *\nCopyright: %s\nLicense: ISC\n' "$(sed -n 's/^Copyright (c) //p' LICENSE)"
    sed -n '/^Permission/,$ { s/^$/./; s/^/ /; p; }' LICENSE
}

# What the compiler itself is linked with.
libraries() {
    mkdir -p "$to/shlibs/debian"
    printf 'Source: minifut\n\nPackage: minifut\nArchitecture: any\n' >"$to/shlibs/debian/control"
    binary=$(realpath "$root/usr/bin/minifut")
    (cd "$to/shlibs" && dpkg-shlibdeps -O "$binary" 2>/dev/null) | sed -n 's/^shlibs:Depends=//p'
}

# The rest of Depends is what `minifut compile` needs to build a program: not any c-compiler, as clang-15 alone, which PoCL depends
# on, is no `cc`. Programs look for OpenCL's loader where they run.
control() {
    cat <<END
Package: minifut
Version: $version
Architecture: $arch
Maintainer: $maintainer
Installed-Size: $(du -k -s --apparent-size "$root/usr" | cut -f1)
Depends: $(libraries), gcc | clang, libc6-dev | libc-dev
Recommends: ocl-icd-libopencl1 | libopencl1, pocl-opencl-icd | opencl-icd, git, libedit2
Section: devel
Priority: optional
Description: compiler for functional array programs, to OpenCL
 minifut compiles small functional array programs (map, reduce, scan and
 loops, nested as you like) to C with OpenCL kernels. It turns nested
 parallelism into several versions at once, guards them by comparing the
 parallelism at hand with thresholds, and tunes the thresholds to your
 data and device.
END
}

# Where Debian wants things that elsewhere lie in other places.
debianise() {
    rm "$root/usr/share/minifut/installed" "$doc/LICENSE" # its text is in the file copyright
    rmdir --ignore-fail-on-non-empty "$root/usr/share/minifut"
    mkdir "$root/usr/share/zsh/vendor-completions"
    mv "$root/usr/share/zsh/site-functions/_minifut" "$root/usr/share/zsh/vendor-completions/"
    rmdir "$root/usr/share/zsh/site-functions"
    strip --remove-section=.comment --remove-section=.note "$root/usr/bin/minifut"
    gzip -9n "$root"/usr/share/man/man*/*
    changelog | gzip -9n >"$doc/changelog.gz"
    copyright >"$doc/copyright"
}

rm -rf "$root" "$to/shlibs"
mkdir -p "$root/DEBIAN"
DESTDIR=$(realpath "$root") PREFIX=/usr tools/install.sh install "$minifut" "$manuals" "$@"
debianise
control >"$root/DEBIAN/control"
(cd "$root" && find usr -type f | LC_ALL=C sort | xargs -d '\n' md5sum) >"$root/DEBIAN/md5sums"
find "$root" -type d -exec chmod u=rwx,go=rx,a-s {} +
package=$to/minifut_${version}_$arch.deb
rm -f "$to"/minifut_*.deb
dpkg-deb --root-owner-group --build "$root" "$package" >/dev/null
rm -r "$root" "$to/shlibs"
echo "$package"
