#!/bin/sh
# The runtime as text, which goes in front of each generated program, or what is needed for that. Three parts: `core`, which
# every program has; `program`, what makes a command and a server of it; `library`, what makes Futhark's C API of it.
#   bundle.sh           the C text of a command: core and program, includes of our own left out
#   bundle.sh --texts   texts.h: the .cl files and scalar.h as C string constants
#   bundle.sh --c       the parts as C string constants `static const char runtime_core[]` and so on, for the compiler
set -eu
dir=$(dirname "$0")
headers="policy.h values.h scalar.h rank.h spell.h facts.def rt.h dev.h dev_driver.h internal.h"
files="values.c values_read.c dev_opencl.h dev_opencl_find.c dev_opencl.c dev_cuda.c dev.c context.c device.c build.c sized.c room.c limit.c turns.c parts.c tell.c launch.c
steps.c heap.c mem.c builtin.c profile.c timeline.c boundary.c elements.c tuning.c"
program="serve.c serve_values.c written.c cli.c"
library="library_api.h library.h library.c library_values.c"
builtin="fill.cl iota.cl transpose_tiled.cl transpose_plain.cl transpose_cpu.cl copy_strided.cl"

# A file as a string constant, a line of it a line.
quote() {
    sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/    "/' -e 's/$/\\n"/'
}

texts() {
    echo '/* The texts that runtime/ hands to the OpenCL compiler. Made by runtime/bundle.sh. */'
    for f in declared.cl prelude.cl scalar.h $builtin steps.cl room.cl; do
        echo "static const char rt_text_$(echo "$f" | tr . _)[] ="
        quote < "$dir/$f"
        echo '    "";'
    done
}

plain() {
    for f in "$@"; do
        echo "/* ---- runtime/$f ---- */"
        sed -e '/^#include "runtime\//d' "$dir/$f"
    done
}

# Programs that are to share a runtime compiled once are compiled with -DRT_API= -DRT_SEPARATE, it with -DRT_API=.
core() {
    echo '#ifndef _GNU_SOURCE'
    echo '#define _GNU_SOURCE'
    echo '#endif'
    echo '#ifndef RT_API'
    echo '#define RT_API static __attribute__((unused))'
    echo '#endif'
    plain $headers
    echo '#ifndef RT_SEPARATE'
    texts
    plain $files
    echo '#endif'
}

program() {
    plain serve.h
    echo '#ifndef RT_SEPARATE'
    plain $program
    echo '#endif'
}

constant() { # name, command...
    echo "static const char runtime_$1[] ="
    shift
    "$@" | quote
    echo '    "";'
}

case "${1:-}" in
"") core; program ;;
--texts) texts ;;
--c)
    constant core core
    constant program program
    constant library plain $library
    constant api sed -e '/^#include "runtime\//d' "$dir/library_api.h"
    ;;
*)
    echo "usage: bundle.sh [--texts | --c]" >&2
    exit 2
    ;;
esac
