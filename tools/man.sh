#!/bin/sh
# The manual pages, from docs/commands.md and what the compiler says of its commands: minifut(1), one for each command,
# minifut-program(7) for generated programs.
#   usage: man.sh MINIFUT FOLDER        (needs lowdown)
set -eu
cd "$(dirname "$0")/.."
minifut=$(realpath "$1")
mkdir -p "$2"
to=$(realpath "$2")
version=$(cat VERSION)
rm -f "$to"/minifut*.[17]

# A part of docs/commands.md: what follows the line, up to the next heading. Links into pages are their text; tables, which have two
# columns, are terms and what they mean: a terminal has no room for boxes.
part() {
    awk -v head="$1" '/^#/ { inside = $0 == head; next } inside' docs/commands.md |
        sed -E 's/\[([^]]*)\]\([a-z]*\.md[^)]*\)/\1/g; s/<sup>([0-9]*)<\/sup>/^\1/g' |
        awk '!/^\|/ { if (rows) print ""; rows = 0; print; next }
             ++rows > 2 { # behind the heads and the line under them
                 gsub(/\\\|/, "\001"); split($0, cell, / *\| */); gsub("\001", "|", cell[2]); gsub("\001", "|", cell[3])
                 printf "%s\n\n:   %s\n\n", cell[2], cell[3]
             }'
}

# Of a part, the indented block that it begins with, and what follows that.
synopsis() { awk '/^    / { print; seen = 1; next } seen { exit }'; }
description() { awk 'after || (NF && !/^    /) { after = 1; print }'; }

# The options that --help shows, as terms and what they do. (Between a name and its help are two spaces, or one if it is long.)
options() {
    "$minifut" "$1" --help | awk '
        /^ +-/ {
            at = match(substr($0, 7), /  +/)
            if (at && RSTART + 6 <= 27) { name = substr($0, 1, RSTART + 5); rest = substr($0, RSTART + RLENGTH + 6) }
            else if (match($0, /^ +-[^ ,]+(, -[^ ,]+)*( [A-Z]+)? /)) { name = substr($0, 1, RLENGTH - 1); rest = substr($0, RLENGTH + 1) }
            sub(/^ +/, "", name)
            printf "%s`%s`\n\n:   %s\n", n++ ? "\n" : "", name, rest
            next
        }
        n { sub(/^ +/, ""); print "    " $0 }' | sed -E 's/([*_<>])/\\\1/g; /^`/s/\\//g'
}

page() { # name, section, what it is; the rest of the page on standard input
    {
        printf 'title: %s\nsection: %s\nsource: minifut %s\nvolume: minifut\n\n' "$1" "$2" "$version"
        printf '# NAME\n\n%s - %s\n\n' "$1" "$3"
        cat
    } | lowdown -s --out-no-smarty --parse-no-super -t man |
        sed -e 's/\\fC/\\fB/g' -e '/^\.SH$/ { N; s/\n/ /; }' >"$to/$1.$2"
}

"$minifut" --complete >"$to/commands"
does() { awk -F '\t' -v name="$1" '$1 == name { print $2 }' "$to/commands"; }

{
    printf '# SYNOPSIS\n\n    minifut COMMAND [options] prog.sf\n\n# DESCRIPTION\n\n'
    printf 'A compiler for small functional array programs. It turns nested parallelism into several OpenCL programs at once, guards them\n'
    printf 'by comparing the parallelism at hand with thresholds, and tunes the thresholds to data and device.\n\n'
    part '# Commands'
    printf '\n# COMMANDS\n\n'
    awk -F '\t' '!/^-/ { printf "`minifut %s`\n\n:   %s\n\n", $1, $2 }' "$to/commands"
    printf '# SEE ALSO\n\n'
    awk -F '\t' '!/^-/ { printf "minifut-%s(1), ", $1 }' "$to/commands"
    printf 'minifut-program(7); the language, the tuner and a tutorial: in the documentation that is installed beside minifut\n'
} | page minifut 1 'a compiler for functional array programs'

# Commands that docs/commands.md describes together share the text.
grep '^## minifut ' docs/commands.md | sed 's/^## minifut //' | while read -r names; do
    for name in $(echo "$names" | tr -d ,); do
        {
            printf '# SYNOPSIS\n\n'
            part "## minifut $names" | synopsis | awk -v name="$name" '$1 == "minifut" { ours = $2 == name } ours'
            printf '\n# DESCRIPTION\n\n'
            part "## minifut $names" | description
            printf '\n# OPTIONS\n\n'
            options "$name"
            printf '\n# SEE ALSO\n\nminifut(1), minifut-program(7)\n'
        } | page "minifut-$name" 1 "$(does "$name")"
    done
done

{
    printf '# SYNOPSIS\n\n'
    part '# Options of a generated program' | synopsis
    printf '\n# DESCRIPTION\n\n'
    part '# Options of a generated program' | description
    printf '\n# SEE ALSO\n\nminifut(1)\n'
} | page minifut-program 7 'programs that minifut compile makes'
rm "$to/commands"
