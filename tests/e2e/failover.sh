#!/usr/bin/env bash
# Slurm fails over: slurmctld dies in the moment of the fault, its backup takes over, the first comes back, and is stopped in
# the middle of the next requeue. Each act is done once, by whichever controller answers.
. "$(dirname "${BASH_SOURCE[0]}")/lib/begin.sh"

cluster_options=(--backup)
start_slurm_with_faultline 7
: >"$work/faults"
job=$(submit_train 600)
wait_until 60 job_is "$job" RUNNING || give_up "the job did not start"
wait_until 60 stepped 15 || give_up "the job made no step"
bad=$(job_nodes "$job" | sed -n 2p)

# slurmctld writes its state down within five seconds; what it did not write before it is killed never happened.
saved() { [[ $FAULTLINE_SLURM_DIR/state/job_state -nt $work/started ]]; }
touch "$work/started"
wait_until 30 saved || give_up "Slurm did not save its state"
"$slurm_cluster" kill-ctld
ecc_error "$bad"
wait_until 60 drained_by_faultline "$bad" || give_up "$bad was not drained"
pass "$bad was drained through the backup controller"
moved() { job_is "$job" RUNNING && ! job_runs_on "$job" "$bad"; }
pass_if "and the job runs without it" wait_until 90 moved
reason=$(node_reason "$bad")

"$slurm_cluster" start-ctld
first_is_back() { scontrol ping | grep -q '(primary).*is UP'; }
wait_until 30 first_is_back || fail "the first controller did not come back"
wait_until 30 moved || fail "the job was lost on the way back: $(job_state "$job")"
pass_equal "the drain outlives both" "$reason" "$(node_reason "$bad")"

second=$(job_nodes "$job" | tail -n 1)
ecc_error "$second" 0000:5d:00
wait_until 30 drained_by_faultline "$second" || fail "$second was not drained"
"$slurm_cluster" end-ctld # the requeue is under way
moved_again() { job_is "$job" RUNNING && ! job_runs_on "$job" "$bad" && ! job_runs_on "$job" "$second"; }
pass_if "a requeue that lost its controller is finished through the backup" wait_until 90 moved_again
settled() { ask actions --json | jq -e '[.actions[] | select(.ruling == "act" and .action.kind != "notify")] | length >= 4 and all(.outcome.status == "done")' >/dev/null; }
pass_if "every act has its outcome" wait_until 60 settled
pass_equal "the job was requeued once for each fault" "2" "$(job_restarts "$job")"
pass_equal "and no other node was drained" "$(printf '%s\n' "$bad" "$second" | sort)" "$(sinfo -h -N -t drain,drng -o %N | sort -u)"
scancel "$job"
finish
