#!/bin/sh
# make demo: what several versions of one program are for. Compiles examples/matmul.sf, says what its versions are, takes the time
# of each on matrices of different shapes, lets `minifut tune` choose among them on this machine's device, and runs it.
#   usage: tools/demo.sh [FOLDER]             (default: demo; MINIFUT: the compiler; RUNS: how often each is run, default 15)
#          tools/demo.sh --versions PROGRAM   options that make a compiled program take one version, a line for each
set -eu
NEVER=4611686018427387904

# From --print-params: thresholds, each with the outcomes of others that lead to it. The version behind a threshold is taken if it
# is met and those before it are as they must be; the last version if none is met.
versions() { # program
    "$1" --print-params | awk -v never=$NEVER '
        /\(threshold\(/ { name[++n] = $1; sub(/^[^,]*, */, ""); gsub(/[()]/, ""); path[n] = $0 }
        function options(met,   k, line) {
            for (k = 1; k <= n; k++) line = line " --param=" name[k] "=" (name[k] in met ? 1 : never)
            print substr(line, 2)
        }
        END {
            for (k = 1; k <= n; k++) {
                split("", met)
                m = split(path[k], before, " ")
                for (i = 1; i <= m; i++) if (before[i] !~ /^!/) met[before[i]]
                met[name[k]]
                options(met)
            }
            split("", met)
            options(met)
        }'
}

if [ "${1:-}" = --versions ]; then
    versions "$2"
    exit
fi

dir=${1:-demo}
minifut=${MINIFUT:-./minifut}
runs=${RUNS:-15}
program=$dir/matmul
mkdir -p "$dir/datasets"
cp examples/matmul.sf "$dir/"

make_data() { # name n m p: two matrices, n x m and m x p
    [ -e "$dir/datasets/$1.in" ] || "$minifut" dataset -b -s 42 --f32-bounds=-1:1 -g "[$2][$3]f32" -g "[$3][$4]f32" \
        >"$dir/datasets/$1.in"
    printf '    %-7s %5d x %-6d times %6d x %d\n' "$1" "$2" "$3" "$3" "$4"
}

# The middle of a program's running times on a data set, in microseconds; `-` where the device cannot run it.
median() { # data set, option...
    data=$dir/datasets/$1.in
    shift
    if "$program" "$@" -n -r "$runs" -t "$dir/times" <"$data" >/dev/null 2>&1; then
        sort -n "$dir/times" | awk '{ t[NR] = $1 } END { print t[int((NR + 1) / 2)] }'
    else
        echo -
    fi
}

# A row for each version, a column for each data set; the least of each column has a star. Then who has a star.
table() { # data set...
    k=0
    versions "$program" | while read -r options; do
        printf 'V%d' $k
        for name in "$@"; do
            printf ' %s' "$(median "$name" $options </dev/null)"
        done
        echo
        k=$((k + 1))
    done | awk -v names="$*" '
        { row[NR] = $1; for (c = 2; c <= NF; c++) { t[NR, c] = $c; if ($c != "-" && (!(c in least) || $c + 0 < least[c])) least[c] = $c + 0 } }
        END {
            columns = split(names, name, " ")
            printf "           "
            for (c = 1; c <= columns; c++) printf "%12s", name[c]
            print ""
            for (r = 1; r <= NR; r++) {
                printf "    %-7s", row[r]
                for (c = 2; c <= columns + 1; c++) {
                    printf "%11s%s", t[r, c], t[r, c] == least[c] ? "*" : " "
                    if (t[r, c] == least[c]) best[r]
                }
                print ""
                if (r in best) { stars = stars (stars ? ", " : "") row[r]; n++ }
            }
            print (n > 1 ? "no version is the fastest everywhere; these are somewhere: " : "the fastest everywhere is ") stars
        }'
}

echo "== the program: $program.sf"
grep -v '^--' "$program.sf"
echo
echo "== the device (minifut devices)"
"$minifut" devices
echo
echo "== its versions (minifut explain $program.sf)"
"$minifut" explain "$program.sf"
echo
echo "== the time of each version on matrices of four shapes, in microseconds (*: the fastest)"
make_data tall 32768 32 1
make_data square 256 256 256
make_data deep 4 262144 1
make_data narrow 64 4096 4
"$minifut" compile -o "$program" "$program.sf"
table tall square deep narrow
echo
echo "== which version is for which shape? (minifut tune $program.sf $dir/datasets)"
"$minifut" tune "$program.sf" "$dir/datasets"
echo
echo "== running it ($program --tuning $program.sf.tuning < small.in)"
printf '[[1f32, 2], [3, 4]] [[5f32, 6], [7, 8]]' >"$dir/small.in"
"$program" --tuning "$program.sf.tuning" <"$dir/small.in"
