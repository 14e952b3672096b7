#!/bin/sh
# usage: tests/flatten/run.sh [BUILD FOLDER [--bless]]: the tests of the flattening pass (see flatten_main.c).
# The compiler's objects must have been built.
cd "$(dirname "$0")/../.." || exit 2
build=${1:-build}
main=$build/flatten_main
${CC:-cc} -std=c11 -D_GNU_SOURCE -I. -g $CFLAGS -o "$main" tests/flatten/flatten_main.c "$build"/base/*.o \
    "$build"/ir/*.o "$build"/flatten/*.o "$build"/runtime/values*.o -lm || exit 2
"$main" --check ${2:-} tests/flatten/*.ir
