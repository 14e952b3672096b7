# Completion of minifut for bash. What there is to complete the compiler itself says: `minifut COMMAND --complete` prints a line
# for each option (its names, what its value is called, words that it may be, help; tabs between), see command/args.h.

# Files with one of the endings, and folders.
_minifut_files() {
    local ending
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <({
        for ending in $1; do
            compgen -f -X "!*.$ending" -- "$2"
        done
        compgen -d -- "$2"
    } | sort -u)
}

# The value of an option; nothing where only its user knows.
_minifut_value() { # what it is called, words that it may be, what is typed
    if [[ $2 ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$2" -- "$3")
    elif [[ $1 == FILE ]]; then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$3")
    fi
}

_minifut() {
    local minifut=${COMP_WORDS[0]/#\~/$HOME} typed=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    local line names value rest words name files='' first='' offered=''
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "$("$minifut" --complete 2>/dev/null | cut -f 1)" -- "$typed")
        return
    fi
    # Of --emit=c, bash makes three words.
    if [[ $typed == '=' ]]; then
        typed=
    elif [[ $before == '=' ]]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    while IFS= read -r line; do
        if [[ $line == 'files '* ]]; then
            files=${line#files }
            continue
        elif [[ $line == 'first '* ]]; then
            first=${line#first }
            continue
        fi
        names=${line%%$'\t'*} rest=${line#*$'\t'}
        value=${rest%%$'\t'*} rest=${rest#*$'\t'}
        words=${rest%%$'\t'*}
        for name in $names; do
            if [[ $value && ${name%=} == "$before" ]]; then
                _minifut_value "$value" "$words" "$typed"
                return
            fi
        done
        offered+=" $names"
    done < <("$minifut" "${COMP_WORDS[1]}" --complete 2>/dev/null)
    if [[ $typed == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$offered" -- "$typed")
        [[ ${COMPREPLY[*]} == *= ]] && compopt -o nospace 2>/dev/null
    elif [[ $first ]] && ((COMP_CWORD == 2)); then
        mapfile -t COMPREPLY < <(compgen -W "$first" -- "$typed")
    elif [[ $files ]]; then
        _minifut_files "$files" "$typed"
    fi
    return 0
}

complete -F _minifut minifut
