#compdef minifut
# Completion of minifut for zsh; installed as _minifut. What there is to complete the compiler itself says: `minifut COMMAND
# --complete` prints a line for each option (its names, what its value is called, words that it may be, help; tabs between), see
# command/args.h.

_minifut() {
    local minifut=${~words[1]} line name kind
    local -a commands columns names specs endings first
    if ((CURRENT == 2)); then
        commands=(${${(f)"$($minifut --complete 2>/dev/null)"}/$'\t'/:})
        _describe command commands
        return
    fi
    for line in ${(f)"$($minifut $words[2] --complete 2>/dev/null)"}; do
        if [[ $line == 'files'* ]]; then
            endings=(${=line#files})
            continue
        elif [[ $line == 'first '* ]]; then
            first=(${=line#first})
            continue
        fi
        columns=("${(@ps:\t:)line}")
        names=(${=columns[1]})
        columns[4]=${${columns[4]//\[/\\[}//\]/\\]} # in brackets below
        kind=
        if [[ -n $columns[3] ]]; then
            kind=":$columns[2]:($columns[3])"
        elif [[ $columns[2] == FILE ]]; then
            kind=":$columns[2]:_files"
        elif [[ -n $columns[2] ]]; then
            kind=":${columns[2]/:/\\:}: "
        fi
        for name in $names; do
            # --name=VALUE or --name VALUE, but for names with their `=`: those take no other form; an option has one name only.
            if [[ $name == *= ]]; then
                specs+="${name%=}=-[$columns[4]]$kind"
            elif [[ -n $kind && $name == --* ]]; then
                specs+="($names)$name=[$columns[4]]$kind"
            else
                specs+="($names)${name}[$columns[4]]$kind"
            fi
        done
    done
    ((${#first})) && specs+="1:command:(${first})"
    ((${#endings})) && specs+="*:file:_files -g '*.(${(j:|:)endings})(-.)'"
    shift words
    ((CURRENT--))
    _arguments -s : $specs
}

_minifut "$@"
