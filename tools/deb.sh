#!/bin/sh
# Makes a Debian package: build/deb/minifut_VERSION_ARCH.deb. Needs dpkg-deb; no root.
#   usage: deb.sh MINIFUT MANUALS FOLDER
set -eu
cd "$(dirname "$0")/.."
minifut=$1
manuals=$2
out=$3
version=$(cat VERSION)
arch=$(dpkg --print-architecture)
tree=$out/tree
maintainer="minifut developers <minifut@localhost>"
rm -rf "$tree"
mkdir -p "$tree/DEBIAN"
umask 022

DESTDIR=$tree PREFIX=/usr tools/install.sh install "$minifut" "$manuals" >/dev/null
rm "$tree/usr/share/minifut/installed" # dpkg knows what it has installed
rmdir "$tree/usr/share/minifut" 2>/dev/null || :
strip "$tree/usr/bin/minifut"

# Where Debian has them, and packed as it has them.
doc=$tree/usr/share/doc/minifut
{ printf 'minifut: a compiler for functional array programs\n\n'; cat LICENSE; } >"$doc/copyright"
rm "$doc/LICENSE"
gzip -9n <<EOF >"$doc/changelog.gz"
minifut ($version) unstable; urgency=medium

  * What has changed stands in CHANGELOG.md.

 -- $maintainer  $(LC_ALL=C date -R -r CHANGELOG.md)
EOF
[ ! -d "$tree/usr/share/man" ] || find "$tree/usr/share/man" -type f -exec gzip -9n {} +
[ ! -d "$tree/usr/share/zsh/site-functions" ] || {
    mkdir -p "$tree/usr/share/zsh/vendor-completions"
    mv "$tree"/usr/share/zsh/site-functions/* "$tree/usr/share/zsh/vendor-completions/"
    rmdir "$tree/usr/share/zsh/site-functions"
}

# The packages of the shared libraries that the compiler itself needs.
libraries() {
    ldd "$minifut" | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p' | while read -r file; do
        dpkg -S "$file" 2>/dev/null || dpkg -S "$(realpath "$file")" 2>/dev/null || :
    done | sed 's/:.*//' | sort -u | paste -sd, | sed 's/,/, /g'
}

cat >"$tree/DEBIAN/control" <<EOF
Package: minifut
Version: $version
Architecture: $arch
Maintainer: $maintainer
Section: devel
Priority: optional
Installed-Size: $(du -ks --exclude=DEBIAN "$tree" | cut -f1)
Depends: $(libraries), gcc, libc6-dev | libc-dev, opencl-c-headers | opencl-headers, ocl-icd-opencl-dev | opencl-dev
Recommends: pocl-opencl-icd | opencl-icd
Description: compiler for functional array programs, to OpenCL
 Small programs of map, reduce, scan and loops, nested as you like, become
 OpenCL programs that are fast on every input: several versions of each
 parallel nest are made, and thresholds between them are tuned to the data and
 the device. The language is that of Futhark.
EOF
(cd "$tree" && find usr -type f | LC_ALL=C sort | xargs md5sum) >"$tree/DEBIAN/md5sums"
dpkg-deb --root-owner-group --build "$tree" "$out/minifut_${version}_$arch.deb" >/dev/null
rm -rf "$tree"
echo "$out/minifut_${version}_$arch.deb"
