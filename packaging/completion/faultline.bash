# Completion for faultline. It asks the program's own help, so it knows the verbs and options of the version installed.

# The verbs and long options in a help text.
_faultline_words() {
  sed -n -E -e 's/^  (-.,)?(--[a-z-]+).*/\2/p' -e '/^Subcommands:/,/^$/s/^  ([a-z-]+) .*/\1/p'
}

# What the help text says of an option's value: its names, if those are all there are, else its type; nothing for a flag.
_faultline_value() { # OPTION
  sed -n -E -e "s/^  (-.,)?$1 [A-Z]+:\\{([^}]*)\\}.*/\\2/p" -e "s/^  (-.,)?$1 ([A-Z]+).*/\\2/p"
}

_faultline() {
  local program=$1 word=$2 option=${COMP_WORDS[COMP_CWORD - 1]} value help i
  local -a verbs=()

  for ((i = 1; i < COMP_CWORD; i++)); do
    # What follows -- is somebody else's command line.
    [[ ${COMP_WORDS[i]} != -- ]] || return 0
  done
  for ((i = 1; i < COMP_CWORD; i++)); do
    [[ ${COMP_WORDS[i]} != -* ]] || break
    verbs+=("${COMP_WORDS[i]}")
  done
  help=$("$program" "${verbs[@]}" --help 2>/dev/null </dev/null) || return 0
  # Bash takes --mode=act apart at the =.
  [[ $word != = ]] || { option=${COMP_WORDS[COMP_CWORD - 1]} word=''; }
  [[ $option != = ]] || option=${COMP_WORDS[COMP_CWORD - 2]}
  if [[ $option =~ ^--[a-z-]+$ ]]; then
    value=$(_faultline_value "$option" <<<"$help")
    case $value in
      '') ;; # a flag
      *[a-z]*) mapfile -t COMPREPLY < <(compgen -W "${value//,/ }" -- "$word") && return ;;
      *) return ;; # files
    esac
  fi
  mapfile -t COMPREPLY < <(compgen -W "$(_faultline_words <<<"$help")" -- "$word")
}

# Where it finds nothing, as for an option's value, files are offered.
complete -o default -F _faultline faultline
