#!/usr/bin/env bash
# Where the job goes on a Slurm without topology and reservation: back to the nodes that it had and a spare, so that its ranks
# keep their order; and it never waits for one of them that is gone.
. "$(dirname "${BASH_SOURCE[0]}")/lib/begin.sh"

# Four nodes of nine with one cause within a minute: the shipped limits would not have it.
printf '[limits]\ndrained_share_max = 0.6\nsame_cause_nodes_max = 4\n' >"$work/serve.toml"
start_slurm_with_faultline 9
: >"$work/faults"
runs_on() { job_is "$1" RUNNING && [[ $(job_nodes "$1" | xargs) == "$2" ]]; } # JOB NODES
moved_off() { job_is "$1" RUNNING && ! job_runs_on "$1" "$2"; }                # JOB NODE
left() { ! job_is "$1" RUNNING; }
none_runs() { [[ -z $(squeue -h) && -z $(sinfo -h -N -t completing,allocated,mixed) ]]; }
start_job() { # NODES SBATCH OPTIONS...; sets job
  local wanted=$1; shift
  wait_until 30 none_runs || give_up "the nodes were not left: $(squeue -h)"
  job=$(submit_train 600 "$@")
  wait_until 60 runs_on "$job" "$wanted" || give_up "job $job did not start on $wanted: $(job_field "$job" Reason) $(job_nodes "$job" | xargs)"
}
lose() { # NODE
  ecc_error "$1"
  wait_until 30 drained_by_faultline "$1" || give_up "$1 was not drained"
}
requeue_is_done() { # JOB COUNT
  ask actions --json --limit 500 | jq -e --arg j "job:$1" --argjson n "$2" \
    '[.actions[] | select(.action.kind == "requeue_excluding" and .action.subject == $j and .outcome.status == "done")] | length == $n' >/dev/null
}

start_job "n1 n2 n3 n4" -N 4
lose n2
pass_if "the job comes back to the nodes that it had and a spare" wait_until 60 runs_on "$job" "n1 n3 n4 n5"
pass_if "and the act ends" wait_until 30 requeue_is_done "$job" 1
lose n4
pass_if "a second time too, though Slurm keeps the list of the first" wait_until 60 runs_on "$job" "n1 n3 n5 n6"
pass_if "and that act ends" wait_until 30 requeue_is_done "$job" 2
scontrol requeue "$job"
untied() { job_is "$job" PENDING && [[ -z $(squeue -h -j "$job" -o %n) ]]; }
pass_if "a job that somebody else puts back is not tied to the nodes any more" wait_until 30 untied
pass_if "and that act has ended again" wait_until 30 requeue_is_done "$job" 2
scancel "$job"

start_job "n5 n6 n7 n8" -N 4
ecc_error n8
wait_until 30 left "$job" || give_up "the job was not requeued"
blocker=$(sbatch --parsable --exclusive --nice=-10000 -w n6 -o /dev/null --wrap 'sleep 300')
pass_if "the job does not wait for a node that another job took" wait_until 60 moved_off "$job" n6
pass_if "nor goes back to the bad one" moved_off "$job" n8
scancel "$job" "$blocker"

scontrol update nodename=n5,n6,n9 AvailableFeatures=wide ActiveFeatures=wide
start_job "n5 n6" -N 2 -C wide
lose n6
pass_if "a spare that the job does not fit does not hold it" wait_until 60 runs_on "$job" "n5 n9"
pass_equal "and leaves no list on it" "" "$(squeue -h -j "$job" -o %n)"
scancel "$job"
finish
