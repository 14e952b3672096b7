# Completion of minifut for fish. What there is to complete the compiler itself says: `minifut COMMAND --complete` prints a line
# for each option (its names, what its value is called, words that it may be, help; tabs between), see command/args.h.

function __minifut_first
    test (count (commandline -opc)) -eq 1
end

function __minifut_commands
    set -l typed (commandline -opc)
    $typed[1] --complete 2>/dev/null
end

# Words that an option's value may be, each behind `front`; files where it is one.
function __minifut_values -a front value words typed
    if test -n "$words"
        string replace -r '^' -- "$front" (string split ' ' -- $words)
    else if test "$value" = FILE
        string replace -r '^' -- "$front" (__fish_complete_path (string replace -- "$front" '' "$typed"))
    end
end

# Options, values of the one that stands before, files.
function __minifut_options
    set -l line (commandline -opc)
    set -l typed (commandline -ct)
    set -l files
    set -l first
    set -l offered
    for row in ($line[1] $line[2] --complete 2>/dev/null)
        set -l columns (string split \t -- $row)
        if string match -q -- 'first *' $row
            set first (string split -n ' ' -- (string replace first '' -- $row))
            continue
        else if test (count $columns) -lt 4
            set files (string split -n ' ' -- (string replace files '' -- $row))
            continue
        end
        for name in (string split ' ' -- $columns[1])
            set -l bare (string trim -r -c = -- $name)
            if test -n "$columns[2]" -a "$line[-1]" = "$bare"
                __minifut_values '' $columns[2] "$columns[3]" $typed
                return
            else if test -n "$columns[2]"; and string match -q -- "$bare=*" "$typed"
                __minifut_values "$bare=" $columns[2] "$columns[3]" $typed
                return
            end
            set -a offered $name\t$columns[4]
        end
    end
    if string match -q -- '-*' "$typed"
        string join \n -- $offered
    else if test -n "$first" -a (count $line) -eq 2
        string join \n -- $first
    else
        test -n "$files"
        and __fish_complete_path $typed | string match -r -- '.*(?:/|\.(?:'(string join '|' -- $files)'))(?:\t.*|$)'
    end
end

complete -c minifut -f
complete -c minifut -n __minifut_first -a '(__minifut_commands)'
complete -c minifut -n 'not __minifut_first' -a '(__minifut_options)'
