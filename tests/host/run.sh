#!/bin/sh
# usage: tests/host/run.sh [FILE.ir...]: compiles each program (one of the SOAC dialect is flattened first,
# MODE says how), runs it on its inputs (lines "-- in: ...") with each list of options (lines "-- args: ...")
# on the OpenCL device and compares with the interpreter; compares plan, layout and memory with FILE.plan,
# FILE.layout and FILE.memory where there are any (BLESS=1 rewrites them). ARGS: lists of options, separated by ";", for
# files that have none. MINIFUT: the compiler.
cd "$(dirname "$0")/../.." || exit 2
minifut=${MINIFUT:-./minifut}
cc=${CC:-cc}
runtime=${MINIFUT_RUNTIME:+-DRT_API= -DRT_SEPARATE $MINIFUT_RUNTIME} # an object file, which the program's text then need not hold
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
pass=0 fail=0
ok() { pass=$((pass + 1)); }
bad() { fail=$((fail + 1)); echo "FAIL $1"; }

# Output of a run: standard output if it succeeded, else the first line of its message.
outcome() {
    if [ "$1" -eq 0 ]; then cat "$2"; else sed -e 's/^[^:]*: error: //' -e 's/^Error: //' -e 1q "$3"; fi
}

stage() { if grep -q '^dialect seg' "$1"; then echo layout; else echo flatten; fi; } # where a file begins

[ $# -gt 0 ] || set -- tests/host/*.ir
for f in "$@"; do
    name=$(basename "$f" .ir)
    from=--from=$(stage "$f")
    for what in plan layout memory; do
        golden=${f%.ir}.$what
        [ -f "$golden" ] || continue
        if [ $what = layout ]; then to=ir; else to="compile --emit=$what"; fi
        "$minifut" $to $from --to=layout "$f" > "$tmp/is" 2>&1
        if [ -n "${BLESS:-}" ]; then cp "$tmp/is" "$golden"; fi
        if cmp -s "$tmp/is" "$golden"; then ok; else bad "$name: $what"; diff "$golden" "$tmp/is" | head -5; fi
    done
    if ! "$minifut" compile --emit=c --flatten="${MODE:-incremental}" $from "$f" > "$tmp/p.c" 2> "$tmp/err"; then
        bad "$name: $(head -1 "$tmp/err")"
        continue
    fi
    if ! $cc -std=c11 -O1 -Wall -Wextra -Werror -o "$tmp/p" "$tmp/p.c" $runtime -lm -ldl -lpthread 2> "$tmp/err"; then
        bad "$name: cc: $(grep -m1 error "$tmp/err")"
        continue
    fi
    grep '^-- in\(put\|:\)' "$f" | sed 's/^-- in\(put\|:\) *//' > "$tmp/inputs"
    grep '^-- args:' "$f" | sed 's/^-- args: *//' > "$tmp/args"
    [ -s "$tmp/args" ] || echo "${ARGS:-}" | tr ';' '\n' > "$tmp/args"
    while IFS= read -r line; do
        echo "$line" | "$minifut" run $from "$f" > "$tmp/want.out" 2> "$tmp/want.err"; want=$?
        outcome $want "$tmp/want.out" "$tmp/want.err" > "$tmp/want"
        while IFS= read -r args; do
            echo "$line" | "$tmp/p" $args > "$tmp/got.out" 2> "$tmp/got.err"; got=$?
            outcome $got "$tmp/got.out" "$tmp/got.err" > "$tmp/got"
            if cmp -s "$tmp/want" "$tmp/got"; then
                ok
            else
                bad "$name $args on $line"
                diff "$tmp/want" "$tmp/got" | head -6
            fi
        done < "$tmp/args"
    done < "$tmp/inputs"
done
echo "$pass passed, $fail failed"
[ "$fail" -eq 0 ]
