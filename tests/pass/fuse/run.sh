#!/bin/sh
# usage: tests/pass/fuse/run.sh [BUILD FOLDER]: each x.ir after the pass is x.out (BLESS=1 rewrites it), and the
# interpreter gives the same results before and after (the `-- test` lines of x.ir).
# Built before: BUILD/unit/interp_test.
build=${1:-build}
cd "$(dirname "$0")/../../.." || exit 2
tool=${INTERP_TEST:-$build/unit/interp_test}
out=$(mktemp) || exit 2
trap 'rm -f "$out"' EXIT
pass=0 fail=0
for f in tests/pass/fuse/*.ir; do
    want=${f%.ir}.out
    "$tool" --print "$f" > "$out" 2>&1
    [ -z "${BLESS:-}" ] || cp "$out" "$want"
    if diff -u "$want" "$out" > "$out.diff"; then
        pass=$((pass + 1))
    else
        fail=$((fail + 1))
        echo "FAIL $f: differs from $want"
        head -20 "$out.diff"
    fi
    rm -f "$out.diff"
done
"$tool" --fuse > "$out" 2>&1
grep -v ' passed, ' "$out"
line=$(tail -1 "$out")
pass=$((pass + $(echo "$line" | sed -n 's/^\([0-9]*\) passed.*/\1/p')))
fail=$((fail + $(echo "$line" | sed -n 's/.* \([0-9]*\) failed.*/\1/p')))
echo "$pass passed, $fail failed"
[ "$fail" = 0 ]
