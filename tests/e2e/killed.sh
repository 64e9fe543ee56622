#!/usr/bin/env bash
# The controller is killed while Slurm does not answer, in the middle of an act; the next one finishes it, once.
. "$(dirname "${BASH_SOURCE[0]}")/lib/begin.sh"

start_slurm_with_faultline 6
: >"$work/faults"
job=$(submit_train 400)
wait_until 60 job_is "$job" RUNNING || give_up "the job did not start"
wait_until 60 stepped 15 || give_up "the job made no step"
bad=$(job_nodes "$job" | sed -n 2p)

"$slurm_cluster" stop-ctld
ecc_error "$bad"
decided() { ask actions --json | jq -e 'any(.actions[]; .action.kind == "drain_node" and .ruling == "act")' >/dev/null; }
wait_until 30 decided || { ask actions --all; give_up "no drain was decided"; }
stop_controller KILL
pass "killed with the act begun and Slurm silent"
"$slurm_cluster" cont-ctld
start_controller --scheduler slurm --slurm-conf "$SLURM_CONF" --mode act --poll-ms 500
drained() { node_is_drained "$bad"; }
wait_until 60 drained || { ask actions --all; tail -n 5 "$work/serve.log"; give_up "$bad was not drained after the restart"; }
pass "the next controller drained $bad"
moved() { job_is "$job" RUNNING && ! job_runs_on "$job" "$bad"; }
pass_if "and brought the job back without it" wait_until 90 moved
settled() { ask actions --json | jq -e '[.actions[] | select(.ruling == "act" and .action.kind != "notify")] | length > 0 and all(.outcome.status == "done")' >/dev/null; }
pass_if "every act has its outcome" wait_until 60 settled
pass_equal "the job was requeued once" "1" "$(job_restarts "$job")"
scancel "$job"
finish
