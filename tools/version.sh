#!/bin/sh
# The version that is built, as `minifut --version` shows it: "0.9.0 (abc1234)". The number is that of the file
# VERSION; the commit is told in a checkout of minifut alone (not in a tarball that lies in another checkout), and
# `-dirty` if files of it were changed.
cd "$(dirname "$0")/.." || exit 1
version=$(cat VERSION) || exit 1
if [ -e .git ] && commit=$(git describe --always --dirty --abbrev=7 --match='' 2>/dev/null); then
    version="$version ($commit)"
fi
echo "$version"
