#!/bin/sh
# The runtime as text, which goes in front of each generated program, or what is needed for that. Parts: `core`, which
# every program has; `program`, what makes a command and a server of it; `library`, what makes Futhark's C API of it; `kernels`,
# what stands before kernels that are C functions, and behind them.
#   bundle.sh           the C text of a command: core and program, includes of our own left out
#   bundle.sh --library the same of a library: core and library
#   bundle.sh --texts   texts.h: the .cl files and scalar.h as C string constants
#   bundle.sh --c       the parts as C string constants `static const char runtime_core[]` and so on, for the compiler
#   bundle.sh --digest  a number of these texts, for the names of the archives that hold them compiled
set -eu
root=$(dirname "$0")/..
headers="runtime/drivers/comm.h common/packed.h common/policy.h common/cost.h common/values.h common/rank.h common/spell.h common/facts.def runtime/drivers/dev.h runtime/drivers/pool.h
runtime/core/rt.h runtime/drivers/dev_driver.h runtime/core/internal.h
runtime/values/boundary.h"
drivers="symbols.c looked.c dev_opencl.h dev_opencl_load.c dev_opencl_find.c dev_opencl.c dev_cuda.h dev_cuda_calls.c dev_cuda_beside.c dev_cuda.c pool.c dev_native.c dev_find.c dev.c"
core="basics.c target.c device.c params.c guards.c refusals.c context.c build.c sized.c room.c limit.c turns.c parts.c
tell.c launch.c steps.c heap.c kept.c mem.c builtin.c builtin_native.c profile.c timeline.c"
values="ranks.c exchange.c parted.c boundary.c arrive.c leave.c elements.c"
program="serve_vars.c serve.c serve_values.c written.c cli.c"
library_headers="library_api.h library.h"
library="library.c library_values.c"
builtin="fill.cl iota.cl transpose_tiled.cl transpose_narrow.cl transpose_plain.cl copy_strided.cl gather.cl"

# The names of files, with their folder.
in_folder() { # folder, names...
    folder=$1
    shift
    for name in "$@"; do echo "$folder/$name"; done
}

# A file as a string constant, a line of it a line.
quote() {
    sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/    "/' -e 's/$/\\n"/'
}

# A file with what it includes of our own.
whole() {
    awk -v root="$root" -F '"' '/^#include "/ { while ((getline line < (root "/" $2)) > 0) print line; next } { print }' "$root/$1"
}

texts() {
    echo '/* The texts that runtime/ hands to the OpenCL compiler. Made by runtime/bundle.sh. */'
    for f in $(in_folder runtime/kernels declared.cl prelude.cl) common/scalar.h $(in_folder runtime/kernels matrix.cl $builtin steps.cl room.cl units.cl); do
        echo "static const char rt_text_$(basename "$f" | tr . _)[] ="
        whole "$f" | quote
        echo '    "";'
    done
}

# A file without the includes of our own.
own() {
    sed -E '/^#include "(runtime|common)\//d' "$root/$1"
}

plain() {
    for f in "$@"; do
        echo "/* ---- $f ---- */"
        own "$f"
    done
}

# A part, left out where it was read before: where many programs are built one after another, the compiler reads it once, as
# a header of theirs (pipeline/binary.c).
once() { # name, command
    echo "#ifndef RT_READ_$1"
    echo "#define RT_READ_$1"
    "$2"
    echo '#endif'
}

# Programs that share a runtime compiled once (libminifut_rt) are compiled with -DRT_API= -DRT_SEPARATE, it with -DRT_API=.
core() { once CORE core_text; }
program() { once PROGRAM program_text; }

core_text() {
    echo '#ifndef _GNU_SOURCE'
    echo '#define _GNU_SOURCE'
    echo '#endif'
    echo '#ifndef RT_API'
    echo '#define RT_API static __attribute__((unused))'
    echo '#endif'
    plain common/tinyc.h common/scalars.def common/scalar.h common/soft.h
    echo '#ifndef RT_PART_KERNELS'
    plain $headers
    echo '#ifndef RT_SEPARATE'
    texts
    plain common/values.c common/values_read.c common/values_open.c $(in_folder runtime/drivers $drivers) $(in_folder runtime/core $core) \
        $(in_folder runtime/values $values)
    echo '#endif'
    echo '#endif'
}

program_text() {
    echo '#ifndef RT_PART_KERNELS'
    plain runtime/shells/serve.h
    echo '#ifndef RT_SEPARATE'
    plain $(in_folder runtime/shells $program)
    echo '#endif'
    echo '#endif'
}

library() {
    echo '#ifndef RT_PART_KERNELS'
    plain $(in_folder runtime/shells $library_headers)
    echo '#ifndef RT_SEPARATE'
    plain $(in_folder runtime/shells $library)
    echo '#endif'
    echo '#endif'
}

constant() { # name, command...
    echo "static const char runtime_$1[] ="
    shift
    "$@" | quote
    echo '    "";'
}

digest() {
    { core; program; library; } | cksum | tr -d '\n ' # number and size
}

case "${1:-}" in
"") core; program ;;
--library) core; library ;;
--digest) digest ;;
--texts) texts ;;
--c)
    constant core core
    constant program program
    constant library library
    constant mpi plain runtime/drivers/comm_mpi.c
    constant api own runtime/shells/library_api.h
    constant kernels whole runtime/kernels/native.h
    echo "static const char runtime_digest[] = \"$(digest)\";"
    ;;
*)
    echo "usage: bundle.sh [--library | --texts | --c | --digest]" >&2
    exit 2
    ;;
esac
