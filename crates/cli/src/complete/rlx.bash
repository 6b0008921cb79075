_rlx_complete() {
    local rest=$COMP_LINE word before joined i
    local -a words=()
    # bash splits the line at : and = as well; words that no space separates belong together.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ -n $word ]]; then
            before=${rest%%"$word"*}
            rest=${rest#"$before$word"}
        else
            before=$rest
        fi
        if ((i > 0)) && [[ -z $before ]]; then
            words[${#words[@]} - 1]+=$word
        else
            words+=("$word")
        fi
    done
    joined=${words[${#words[@]} - 1]}
    local -a found=()
    mapfile -d $'\013' -t found < <(
        _CLAP_IFS=$'\013' \
        _CLAP_COMPLETE_INDEX="$((${#words[@]} - 1))" \
        _CLAP_COMPLETE_COMP_TYPE="$COMP_TYPE" \
        _CLAP_COMPLETE_SPACE=false \
        VARIABLE=bash \
        COMPLETER -- "${words[@]}"
    )
    # bash replaces only what comes after the last : or =, which it gives as a word of its own.
    word=${COMP_WORDS[COMP_CWORD]}
    [[ $word == *[!:=]* ]] || word=
    before=${joined%"$word"}
    COMPREPLY=()
    for word in "${found[@]}"; do
        word=${word#"$before"}
        # A name from elsewhere may hold anything; the line is run as it is completed.
        if [[ $word == *[!A-Za-z0-9_./:=@%+,~-]* ]]; then
            printf -v word %q "$word"
        fi
        COMPREPLY+=("$word")
    done
    # After a key of a condition comes a comparison.
    if [[ ${COMPREPLY-} =~ [=/:+]$ || $joined == *where:* ]]; then
        compopt -o nospace
    fi
}
complete -o bashdefault -o nosort -F _rlx_complete PROGRAM
