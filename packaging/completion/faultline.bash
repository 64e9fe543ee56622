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
    agent)
      options='--config --node --controller --kernel-log --job-log --state --socket --catalog --tls-cert --tls-key'
      options+=' --tls-ca --plain --no-nvml --spool-mib --log-level --help'
      ;;
    serve)
      options='--config --store --catalog --mode --listen --status-listen --tls-cert --tls-key --tls-ca --plain'
      options+=' --scheduler --slurm-conf --slurm-bin --spare-reservation --spare-feature --local-state --test-command'
      options+=' --test-after-drain --return-after-test --webhook --webhook-secret-file --keep-events-days --poll-ms'
      options+=' --log-level --help'
      ;;
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
    --mode) options='observe suggest act' ;;
    --scheduler) options='slurm local' ;;
    --config | --catalog | --store | --log-dir | --socket | --tls-*) options= ;; # a path follows
  esac
  mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
}

complete -o default -F _faultline faultline
