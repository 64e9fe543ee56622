# shellcheck shell=bash
# The beginning of every end-to-end test: a work folder that is removed at the end, and the libraries.
set -euo pipefail
here=${here:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)}
export FAULTLINE=${FAULTLINE:-$here/build/release/bin/faultline} TRAIN_LM=${TRAIN_LM:-$here/build/release/bin/train_lm}
export EXAMPLES=$here/examples
work=$(mktemp -d "${TMPDIR:-/tmp}/faultline-e2e.XXXXXX")
# shellcheck source=tests/e2e/lib/check.sh
. "$here/tests/e2e/lib/check.sh"
# shellcheck source=tests/e2e/lib/faultline.sh
. "$here/tests/e2e/lib/faultline.sh"
# shellcheck source=tests/e2e/lib/slurm.sh
. "$here/tests/e2e/lib/slurm.sh"
if [[ -n ${KEEP:-} ]]; then at_exit "echo 'kept: $work'"; else at_exit "rm -rf '$work'"; fi

cluster_options=() # more options of `slurm_cluster up`
# A Slurm of n1..nN with a whole faultline beside it, in mode act.
start_slurm_with_faultline() { # COUNT [OPTIONS OF 'serve'...]
  local count=$1; shift
  export FAULTLINE_SLURM_DIR=$work/slurm
  start_cluster -n "$count" "${cluster_options[@]}"
  local nodes=() i
  for ((i = 1; i <= count; i++)); do nodes+=("n$i"); done
  make_certificates "${nodes[@]}"
  at_exit stop_faultline
  start_controller --scheduler slurm --slurm-conf "$SLURM_CONF" --mode act --poll-ms 500 "$@"
  start_agents "${nodes[@]}"
}

# The MPI training job on four nodes, each rank below `faultline run`. Prints the job.
submit_train() { # STEPS [SBATCH OPTIONS...]
  local steps=$1; shift
  (cd "$work" && FAULTLINE_RUN="$FAULTLINE run --log-dir $work/rank-logs --" submit --output="$work/job-%A-%a.out" "$@" \
    "$here/tests/e2e/train_mpi.sbatch" --steps "$steps" --checkpoint-every 10 --step-ms-min 100 --fault-file "$work/faults")
}
outputs() { cat "$work"/job-*.out 2>/dev/null || true; }
stepped() { outputs | grep -qE "step $1 loss"; } # STEP
verdict_of_cause() { ask verdicts --json | jq -e --arg c "$1" 'any(.verdicts[]; .cause == $c)' >/dev/null; } # CAUSE
