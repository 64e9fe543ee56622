# Completion of faultline's verbs and of the options that most verbs share; the rest is in `faultline VERB --help`.

_faultline() {
  local word=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]-}
  local verbs='agent serve run pki nodes jobs incidents verdicts actions why approve deny return doctor report help version'
  local options='--help'

  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W "$verbs --help --version" -- "$word")
    return
  fi
  case $verb in
    help) options=$verbs ;;
    pki) ((COMP_CWORD > 2)) || options='init issue --help' ;;
    agent | serve) options='--config --catalog --help' ;;
    nodes | jobs | incidents | verdicts | actions) options='--store --json --catalog --limit --all --help' ;;
    why | report) options='--store --json --catalog --help' ;;
    approve | deny | return) options='--controller --tls-cert --tls-key --tls-ca --plain --store --json --help' ;;
    run)
      # What follows -- is somebody else's command line.
      options='--log-dir --tag --socket --node --ruling-wait --stall-floor --catalog --verbose --help'
      [[ " ${COMP_WORDS[*]:0:COMP_CWORD} " != *' -- '* ]] || options=
      ;;
  esac
  case ${COMP_WORDS[COMP_CWORD - 1]} in
    --config | --catalog | --store | --log-dir | --socket | --tls-*) options= ;; # a path follows
  esac
  mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
}

complete -o default -F _faultline faultline
