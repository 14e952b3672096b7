#!/bin/sh
# Tests of the runtime: values, scalar functions, device operations, a program written by hand through its
# command line and through the server protocol. Usage: tests/runtime/run.sh [BUILD], from the root.
# Environment: CC, MINIFUT (the compiler), PYTHON (one that has futhark-server and futhark-data, else the server is skipped).
set -u
build=${1:-build}/tests/runtime
CC=${CC:-cc}
mkdir -p "$build/tmp"
build=$(cd "$build" && pwd)
export XDG_CACHE_HOME="$build/cache"
export POCL_CACHE_DIR="$build/pocl"
mkdir -p "$XDG_CACHE_HOME" "$POCL_CACHE_DIR"
passed=0
failed=0
skipped=0

fail() {
    failed=$((failed + 1))
    echo "FAIL runtime: $1"
}

# Adds up the summary line of a test program; its other lines are shown.
summed() {
    name=$1
    shift
    "$@" > "$build/out" 2> "$build/err"
    rc=$?
    grep -v ' passed, ' "$build/out"
    line=$(grep ' passed, ' "$build/out" | tail -1)
    p=${line%% passed*}
    f=${line#*, }
    f=${f%% *}
    case "$p:$f" in
    *[!0-9:]* | : | *: | :*) fail "$name ended without a summary (exit $rc): $(tail -3 "$build/err")" ;;
    *)
        passed=$((passed + p))
        failed=$((failed + f))
        if [ "$rc" -ne 0 ] && [ "$f" -eq 0 ]; then fail "$name: exit $rc: $(tail -3 "$build/err")"; fi
        ;;
    esac
}

lacks() { # what, N tests
    skipped=$((skipped + $2))
    echo "skipped for want of $1: $2"
}
has_header() { echo "#include <$1>" | $CC -E - > /dev/null 2>&1; }
sums() {
    [ "$skipped" -eq 0 ] && skipped= || skipped=", $skipped skipped"
    echo "$passed passed, $failed failed$skipped"
    [ "$failed" -eq 0 ]
    exit
}

compiles() {
    name=$1
    shift
    if "$@" > "$build/err" 2>&1 && [ ! -s "$build/err" ]; then
        passed=$((passed + 1))
    else
        fail "$name: $(head -5 "$build/err")"
    fi
}

# with_runtime FILE MORE...: a program behind the runtime's text, and behind more files.
with_runtime() {
    program=$1
    shift
    sh runtime/bundle.sh > "$build/$program.c"
    for more in "$@" "$program"; do cat "tests/runtime/$more.c" >> "$build/$program.c"; done
}

# Only runtime/dev_opencl*.c and the API of libraries know OpenCL, nothing of ours wants its header, and no text of a kernel is looked at.
apart() {
    if found=$(grep -nE "$2" $(ls runtime/*/*.[ch] | grep -v "$3")); then
        fail "$1: $found"
    else
        passed=$((passed + 1))
    fi
}
apart "OpenCL outside dev_opencl*.c and what libraries show of it" '\b(rt_)?cl_([a-z]*_id|context|command_queue|program|kernel|mem|event)\b|\brt_cl\(|\b(RT_)?CL_[A-Z]|CL/' 'dev_opencl\|library'
apart "OpenCL's own header" '#include.*CL/' 'library_api'
apart "text of a kernel searched" 'str(str|chr|n?cmp)\(.*(source|rt_text_of)' 'nothing'

warn="-Wall -Wextra -Wshadow"
own="$warn -std=c11 -D_GNU_SOURCE -I. -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined"
compiles "values" $CC $own -o "$build/test_values" tests/runtime/test_values.c common/values.c \
    common/values_read.c -lm
compiles "scalar" $CC $own -o "$build/test_scalar" tests/runtime/test_scalar.c -lm
with_runtime test_device check_builtins
with_runtime test_native check_builtins
with_runtime demo_program
with_runtime test_launches
if has_header CL/cl.h; then
    compiles "fake driver" $CC $warn -std=c11 -O1 -shared -fPIC -o "$build/fake_opencl.so" tests/runtime/fake_opencl.c
    compiles "launches" $CC $warn -O1 -g -o "$build/test_launches" "$build/test_launches.c" "$build/fake_opencl.so" -lm -ldl -lpthread
fi
compiles "device" $CC $warn -O1 -g -o "$build/test_device" "$build/test_device.c" -lm -ldl -lpthread
compiles "native" $CC $warn -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined -o "$build/test_native" \
    "$build/test_native.c" -lm -ldl -lpthread
for san in address,undefined thread; do
    compiles "gather, $san" $CC $warn -O1 -g -I. -fsanitize=$san -fno-sanitize-recover=all -o "$build/test_gather_${san%,*}" \
        tests/runtime/test_gather.c -lpthread
done
compiles "native, threads" $CC $warn -O1 -g -fsanitize=thread -o "$build/test_threads" "$build/test_native.c" -lm -ldl -lpthread
# clang warns of the same without optimisation.
for cc in "clang -O0" "gcc -O2"; do
    if command -v ${cc% *} > /dev/null; then
        compiles "demo by $cc" $cc -std=c11 $warn -Wvla -Wformat=2 -o "$build/demo" \
            "$build/demo_program.c" -lm -ldl -lpthread
    fi
done

# OpenCL's interface is what its header says; and nothing is built by that: all headers but it are enough.
if has_header CL/cl_ext.h; then
    compiles "OpenCL's header" $CC $warn -std=c11 -I. -fsyntax-only tests/runtime/test_opencl_h.c
else
    lacks "CL/cl.h (opencl-headers)" 1
fi
mkdir -p "$build/include"
ln -sfn /usr/include/* "$build/include"
rm -f "$build/include/CL"
bare="-nostdinc -isystem $($CC -print-file-name=include)"
for folder in "$build"/include/*-linux-gnu "$build/include"; do bare="$bare -isystem $folder"; done
if echo '#include <CL/cl.h>' | $CC $bare -E - > /dev/null 2>&1; then fail "a folder without OpenCL's header"; fi
compiles "the compiler without headers" $CC $warn -std=c11 -D_GNU_SOURCE -I. $bare -fsyntax-only testing/driver.c autotune/devices.c \
    runtime/drivers/dev_opencl_find.c runtime/drivers/dev_opencl_load.c runtime/drivers/symbols.c
compiles "demo without headers" $CC $warn -std=c11 $bare -fsyntax-only "$build/demo_program.c"

export ASAN_OPTIONS=allocator_may_return_null=1
summed values "$build/test_values" 3
summed scalar "$build/test_scalar"
summed native "$build/test_native"
for san in address thread; do summed "gather, $san" "$build/test_gather_$san"; done
for n in 1 2 7; do MINIFUT_THREADS=$n summed "native, $n threads" "$build/test_threads" pool; done

# All else is by OpenCL: first what is asked of a driver that counts, whatever library is there.
export MINIFUT_DRIVER=opencl
header="CL/cl.h (opencl-headers)"
fake() { env MINIFUT_OPENCL= LD_PRELOAD="$build/fake_opencl.so" "$@"; }
if has_header CL/cl.h; then MINIFUT_OPENCL= summed launches "$build/test_launches"; else lacks "$header" 1; fi

# steps ENTRY ARRAYS CALLS: the calls of the driver that one step more of a generated program's loop makes.
steps() {
    has_header CL/cl.h || { lacks "$header" 1; return; }
    for k in 100 101; do
        echo "$k $2" | fake env FAKE_CALLS="$build/calls$k" "$build/steps" -n -e "$1"
    done
    got=$(awk 'NR == FNR { n[$1] = $2; next } $2 != n[$1] { printf "%s%s %d", s, $1, $2 - n[$1]; s = ", " }' \
        "$build/calls100" "$build/calls101")
    if [ "$got" = "$3" ]; then
        passed=$((passed + 1))
    else
        fail "calls of a step of $1: $got"
    fi
}
compiles "steps" "${MINIFUT:-./minifut}" compile --force -o "$build/steps" tests/runtime/steps.sf
# Two blocks that change places and the counter; the number of the launch; the sum, which is read.
steps plain "[1f32, 2, 3]" "clEnqueueNDRangeKernel 1, clSetKernelArg 3"
steps gathers "[1f32, 2, 3] [0i64, 1, 2]" "clEnqueueNDRangeKernel 1, clSetKernelArg 3"
steps sums "[1, 2, 3]" "clEnqueueNDRangeKernel 1, clEnqueueReadBuffer 1"
steps looks "[1, 2, 3] [0i64, 1, 2]" "clEnqueueNDRangeKernel 1, clEnqueueReadBuffer 1, clSetKernelArg 1"

# Numbers that come at once, and those that come when the queue is waited for.
fetched() {
    has_header CL/cl.h || { lacks "$header" 1; return; }
    got=$(echo "3 [1, 2, 3] [0i64, 1, 2]" | fake env ${1:-} "$build/steps" -e looks)
    if [ "$(echo $got)" = "0i32 0i32" ]; then
        passed=$((passed + 1))
    else
        fail "fetched ${1:-}: $got"
    fi
}
fetched
fetched FAKE_LATE=1

# widths ENTRY SIZES KERNELS: the kernels of a generated program that a run builds, `/64` behind those with 64-bit indices.
widths() {
    has_header CL/cl.h || { lacks "$header" 1; return; }
    got=$(echo "$2" | fake "$build/widths" -n -D -e "$1" 2>&1 |
        sed -n -e '/(built-in/d' -e 's/_[0-9]* (.*with 64-bit indices in.*/\/64/' -e 's/_[0-9]* (.* in .*//' -e 's/^Built kernel //p')
    if [ "$(echo $got)" = "$3" ]; then
        passed=$((passed + 1))
    else
        fail "kernels for $1 of $2: $got"
    fi
}
compiles "widths" "${MINIFUT:-./minifut}" compile --force -o "$build/widths" tests/runtime/widths.sf
widths fill 1600000000 segmap_fill
widths fill 2200000000 segmap_fill/64
widths grid "40000 40000" segmap_grid
widths grid "50000 50000" segmap_grid/64
widths sum 1600000000 segred_arriving_sum
widths sum 2200000000 segred_arriving_sum/64

# Then programs on a device.
if ! "$build/demo" --list-devices > /dev/null 2>&1; then
    lacks "an OpenCL device" "$(grep -cE '^ *(expect|in_one|untuned) ' "$0")"
    sums
fi
# PoCL does not optimise its many kernels.
POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable summed device "$build/test_device" "$build/cache/device"

# in_one ENTRY VALUES: a loop's steps become one launch, of which the results are the same.
in_one() {
    each=$(echo "$2" | "$build/steps" -e "$1")
    one=$(echo "$2" | "$build/steps" -e "$1" -L --param "$1.suff_loop_0=1000000" 2> "$build/log")
    if [ "$one" = "$each" ] && grep -q "steps in one launch" "$build/log"; then
        passed=$((passed + 1))
    else
        fail "steps of $1 in one launch: $one, not $each; $(head -3 "$build/log")"
    fi
}
in_one plain "70 [1f32, 2, 3]"
in_one gathers "20 [1f32, 2, 3] [2i64, 1, 0]"
# Where it does not build, step by step.
each=$(echo "70 [1f32, 2, 3]" | "$build/steps" -e plain)
one=$(echo "70 [1f32, 2, 3]" | MINIFUT_STEPS="-Dmf_grid_of=+" "$build/steps" -e plain -L --param plain.suff_loop_0=1000000 2> "$build/log")
if [ "$one" = "$each" ] && grep -q "kernel mf_steps .* does not build" "$build/log"; then
    passed=$((passed + 1))
else
    fail "steps that do not build: $one, not $each; $(head -3 "$build/log")"
fi
# untuned NAME ENTRY VALUES BATCHES: how many launches are made of steps where groups may wait and nobody says anything.
untuned() {
    each=$(echo "$3" | "$build/steps" -e "$2")
    one=$(echo "$3" | MINIFUT_GROUPS_WAIT=1 "$build/steps" -e "$2" -L 2> "$build/log")
    if [ "$one" = "$each" ] && [ "$(grep -c 'steps in one launch' "$build/log")" -eq "$4" ]; then
        passed=$((passed + 1))
    else
        fail "untuned steps, $1: $one, not $each; $(tail -3 "$build/log")"
    fi
}
untuned "single work-items" plain "200 [1f32]" 3
untuned "too few" plain "60 [1f32]" 0
untuned "results looked at" sums "200 [1i32]" 0

# expect NAME EXIT INPUT OUTPUT ERROR OPTIONS...: runs the demo. OUTPUT is the whole of its standard
# output, lines separated by '|'; ERROR a basic regular expression for standard error, '' for none at all.
expect() {
    name=$1 want_rc=$2 input=$3 want_out=$4 want_err=$5
    shift 5
    printf '%s' "$input" | "$build/demo" "$@" > "$build/out" 2> "$build/err"
    rc=$?
    out=$(tr '\n' '|' < "$build/out")
    ok=1
    [ "$rc" -eq "$want_rc" ] && [ "${out%|}" = "$want_out" ] || ok=0
    if [ -n "$want_err" ]; then
        grep -q -- "$want_err" "$build/err" || ok=0
    elif [ -s "$build/err" ]; then
        ok=0
    fi
    if [ $ok -eq 1 ]; then
        passed=$((passed + 1))
    else
        fail "$name: exit $rc, output '$out', error '$(cat "$build/err")'"
    fi
}

tmp=$build/tmp
rm -rf "$tmp" && mkdir -p "$tmp/folder"
five='[1,2,3,4,5] 2'
five_out='[2i32, 4i32, 6i32, 8i32, 10i32]|2i32|30i64'
expect "plain" 0 "$five" "$five_out" ''
expect "comments" 0 "-- xs
[1i32, 2, -- three
 3] -- k
-2" '[-2i32, -4i32, -6i32]|-6i32|-12i64' ''
expect "empty array" 0 'empty([0]i32) 3' 'empty([0]i32)|2147483647i32|0i64' ''
expect "no output" 0 "$five" '' '' -n
expect "float arguments" 0 '[1, 2.5]' '[2.0f32, 3.5f32]' '' -e bump
expect "runs with a consumed argument" 0 '[1, 2.5]' '[2.0f32, 3.5f32]' '' -e bump -r 5
expect "transposition" 0 '[[1,2],[3,4],[5,6]]' '[[1.0f64, 3.0f64, 5.0f64], [2.0f64, 4.0f64, 6.0f64]]' \
    '' --entry-point=turn
expect "log" 0 "$five" "$five_out" '^Compared main.suff_outer_par_0 <= 5: false\.$' -L
expect "param" 0 "$five" "$five_out" '^Compared main.suff_outer_par_0 <= 5: true\.$' -L \
    --param main.suff_outer_par_0=5
expect "default threshold" 0 "$five" "$five_out" 'suff_outer_par_0 <= 5: true' -L --default-threshold 1
expect "refused" 0 "$five" "$five_out" \
    '^Refused scale_local: needs [0-9]* bytes of local memory, the device offers 16\.$' -L \
    --local-memory-limit 16
expect "debugging" 0 "$five" "$five_out" 'Peak device memory: ' -D
expect "profile" 0 "$five" "$five_out" '^stats  *demo.sf:4:5  *3 ' -P -r 3
expect "profile as JSON" 0 "$five" "$five_out" 'demo.sf:4:5' "-P=$tmp/profile.json"
for size in threshold group-size thread-block-size num-groups grid-size tile-size reg-tile-size registers cache; do
    expect "default $size" 0 "$five" "$five_out" '' "--default-$size" 3
done
expect "group size" 0 "$five" "$five_out" '' --default-group-size 2
printf 'main.suff_outer_par_0=5\n\n-- comment\nnobody=3\n main.suff_outer_par_0 = 4 -- last\n' > "$tmp/t"
expect "tuning file" 0 "$five" "$five_out" 't:4: warning: unknown tuning parameter: nobody' --tuning "$tmp/t"
printf 'main.suff_outer_par_0=5\nfoo bar\n' > "$tmp/bad"
expect "bad tuning file" 1 "$five" '' "bad:2: expected name=int, got 'foo bar'" --tuning "$tmp/bad"
printf -- '-- device: Abacus\n--  program: 1f\nmain.suff_outer_par_0=5 -- device: none\n' > "$tmp/other"
expect "tuned on another device" 0 "$five" "$five_out" 'other:1: warning: tuned on another device: Abacus' --tuning "$tmp/other"
expect "tuned for another program" 0 "$five" "$five_out" 'other:2: warning: tuned for another version' --tuning "$tmp/other"
expect "no tuning file" 1 "$five" '' "cannot read $tmp/none" --tuning "$tmp/none"
expect "bad param" 1 "$five" '' "expected NAME=INT, got 'x'" --param x
expect "unknown param" 1 "$five" '' 'unknown tuning parameter: x' --param x=1
expect "print-params" 0 '' \
    'main.suff_outer_par_0 (threshold(def, ))|main.suff_intra_par_1 (threshold(32, !main.suff_outer_par_0))' \
    '' --print-params
expect "unknown option" 2 '' '' "unrecognized option '--nonsense'" --nonsense
expect "an argument" 2 '' '' "unexpected argument 'x'" x
expect "bad runs" 2 '' '' "-r needs a number of runs, got 'x'" -r x
expect "unknown entry" 1 '' '' "no entry point 'f'; choose one by -e: main bump turn same unit swap" -e f
expect "no such device" 1 "$five" '' 'no device matches device nonsense' -d nonsense
expect "device by number" 0 "$five" "$five_out" '' -d '#0'
expect "truncated" 1 '[1,2' '' "argument 1 (xs: \[\]i32): standard input:1:5: expected ',' or '\]', got end of input"
expect "missing argument" 1 '[1,2]' '' 'argument 2 (k: i32): standard input:1:6: expected a value, got end of input'
expect "mistyped" 1 '[1,2.5] 3' '' 'argument 1 (xs: \[\]i32): standard input:1:4: expected i32, got a decimal number'
expect "wrong rank" 1 '[[1,2]] 3' '' 'argument 1 .*: too many dimensions: expected 1'
expect "too much" 1 '[1,2] 3 4' '' 'standard input:1:9: data after the last argument (main takes 2)'
expect "failure in a kernel" 1 '[1,2,3,4] 13' '' '^Error: Index \[5\] out of bounds for array of shape \[4\].$'
expect "failure on the host" 1 '[1] 14' '' '^Error: k cannot be 14$'
expect "sizes" 1 '[1,2] [3]' '' '^Error: same: argument 2: expected an array of shape \[2\], got \[1\]' -e same
expect "unwritable times" 1 "$five" '' "cannot write $tmp/none/t: No such file" -t "$tmp/none/t"
expect "times" 0 "$five" '' '' -n -t "$tmp/times" -r 4
[ "$(grep -c '^[0-9][0-9]*$' "$tmp/times")" -eq 4 ] && passed=$((passed + 1)) || fail "four lines of times"
if [ -c /dev/full ]; then
    printf '%s' "$five" | "$build/demo" 2> "$build/err" > /dev/full && fail "a full disk: exit 0"
    grep -q 'cannot write the results: No space left' "$build/err" && passed=$((passed + 1)) ||
        fail "a full disk: $(cat "$build/err")"
fi
for options in --help --print-params --list-devices "-n -t /dev/full" "-n -P=/dev/full" "--dump-opencl /dev/full"; do
    [ -c /dev/full ] || continue
    printf '%s' "$five" | "$build/demo" $options 2> "$build/err" > /dev/full && fail "$options to a full disk: exit 0"
    grep -q 'cannot write' "$build/err" && passed=$((passed + 1)) || fail "$options to a full disk: $(cat "$build/err")"
done
expect "cache that is a file" 0 "$five" "$five_out" '' --cache-file "$tmp/t"
expect "cache folder" 0 "$five" "$five_out" '' --cache-file "$tmp/kernels"
[ -n "$(ls "$tmp/kernels")" ] && passed=$((passed + 1)) || fail "kernels in the cache folder"
# Processes that need the same kernels at the same time: each is built once, by one of them.
for i in 1 2 3 4; do
    printf '%s' "$five" | "$build/demo" -n -D --cache-file "$tmp/shared" 2> "$tmp/built.$i" &
done
wait
grep -h 'Built kernel' "$tmp"/built.? | grep -v 'from the cache' | sed 's/ in .*//' | sort > "$tmp/built"
[ -s "$tmp/built" ] && [ -z "$(uniq -d "$tmp/built")" ] && [ "$(grep -c 'from the cache' "$tmp"/built.? | grep -vc ':0')" -ge 3 ] &&
    [ -z "$(ls "$tmp/shared" | grep lock)" ] && passed=$((passed + 1)) || fail "kernels built twice: $(uniq -d "$tmp/built")"
expect "dump" 0 '' '' '' --dump-opencl "$tmp/dump.cl"
grep -q '__kernel void scale_local' "$tmp/dump.cl" && passed=$((passed + 1)) || fail "the dump"

# The same program by libcuda, for which OpenCL stands in.
mkdir -p "$build/cuda"
export MINIFUT_DRIVER=cuda
if has_header CL/cl.h; then
    compiles "libcuda" $CC $warn -std=c11 -O1 -shared -fPIC -o "$build/cuda/libcuda.so.1" tests/runtime/cuda_on_opencl.c -lOpenCL
    export LD_LIBRARY_PATH="$build/cuda"
    expect "cuda" 0 "$five" "$five_out" ''
    expect "cuda, empty array" 0 'empty([0]i32) 3' 'empty([0]i32)|2147483647i32|0i64' ''
    expect "cuda, a consumed argument" 0 '[1, 2.5]' '[2.0f32, 3.5f32]' '' -e bump -r 5
    expect "cuda, transposition" 0 '[[1,2],[3,4],[5,6]]' '[[1.0f64, 3.0f64, 5.0f64], [2.0f64, 4.0f64, 6.0f64]]' \
        '' --entry-point=turn
    expect "cuda, local memory" 0 "$five" "$five_out" '^Compared main.suff_outer_par_0 <= 5: true\.$' -L \
        --param main.suff_outer_par_0=5
    expect "cuda, refused" 0 "$five" "$five_out" \
        '^Refused scale_local: needs [0-9]* bytes of local memory, the device offers 16\.$' -L --local-memory-limit 16
    expect "cuda, failure in a kernel" 1 '[1,2,3,4] 13' '' '^Error: Index \[5\] out of bounds for array of shape \[4\].$'
    expect "cuda, profile" 0 "$five" "$five_out" '^stats  *demo.sf:4:5  *3 ' -P -r 3
    expect "cuda, cache folder" 0 "$five" "$five_out" '' --cache-file "$tmp/cuda"
    expect "cuda, from the cache" 0 "$five" "$five_out" 'Built kernel .* from the cache' -D --cache-file "$tmp/cuda"
    in_one plain "70 [1f32, 2, 3]"
    in_one gathers "20 [1f32, 2, 3] [2i64, 1, 0]"
    unset LD_LIBRARY_PATH
else
    lacks "$header" 12
fi
[ -e /usr/lib/x86_64-linux-gnu/libcuda.so.1 ] || expect "no libcuda" 1 "$five" '' 'libcuda.so.1'
MINIFUT_DRIVER=opencl

export OCL_ICD_VENDORS="$tmp/folder"
expect "no driver" 1 "$five" '' 'no OpenCL device found: install a driver'
unset OCL_ICD_VENDORS
# Another library in OpenCL's place: one that is not there, one that is something else, one that is.
export MINIFUT_OPENCL="$tmp/none.so"
expect "no OpenCL" 1 "$five" '' 'no OpenCL device found: install a driver'
expect "no OpenCL, devices" 1 '' '' 'no OpenCL device found' --list-devices
MINIFUT_OPENCL=libm.so.6
expect "no library of OpenCL" 1 "$five" '' 'no OpenCL device found: install a driver'
MINIFUT_OPENCL="$build/fake_opencl.so"
! has_header CL/cl.h || expect "another OpenCL" 0 '' '#0: Fake (GPU, Fake)' '' --list-devices
MINIFUT_OPENCL=
expect "OpenCL, untold" 0 "$five" "$five_out" ''
unset MINIFUT_OPENCL

# Binary in, binary out, and back.
printf '[1,2,3] 5' | "$build/demo" -b > "$tmp/out.bin"
if printf '%s' "$(head -c 7 "$tmp/out.bin" | od -An -c | tr -d ' \n')" | grep -q '^b002001i32$' &&
    [ "$(wc -c < "$tmp/out.bin")" -eq $((7 + 8 + 12 + 11 + 15)) ]; then
    passed=$((passed + 1))
else
    fail "binary output: $(od -c "$tmp/out.bin" | head)"
fi
got=$( (head -c 27 "$tmp/out.bin"; echo ' 2') | "$build/demo" | head -1)
[ "$got" = '[10i32, 20i32, 30i32]' ] && passed=$((passed + 1)) || fail "binary input, text after it: $got"

# The server, by the Python packages.
PYTHON=${PYTHON:-python3}
if "$PYTHON" -c 'import futhark_server, futhark_data' 2> /dev/null; then
    summed server "$PYTHON" tests/runtime/test_server.py "$build/demo" "$tmp"
else
    lacks "futhark_server (PyPI)" 1
fi

sums
