#!/usr/bin/env bash
# torchrun under Slurm, both ways round: `faultline run` before each worker, where a rank that raises is the workload and no
# node's fault; and before each node's torchrun, where an ECC error in a node's kernel log drains that node.
. "$(dirname "${BASH_SOURCE[0]}")/lib/begin.sh"

/usr/bin/python3 -c 'import torch' 2>/dev/null || give_up "python3-torch is not installed: ./dev test installs it"
start_slurm_with_faultline 4
: >"$work/faults"
# Environment: LAUNCHER_RUN or WORKER_RUN. Prints the job.
submit_torchrun() { # NAME STEPS
  (cd "$work" && CHECKPOINTS=$work/checkpoints-$1 submit --output="$work/job-$1.out" "$here/tests/e2e/train_torchrun.sbatch" \
    --steps "$2" --checkpoint-every 5 --fault-file "$work/faults")
}
stepped() { grep -qE "step $2 loss" "$work/job-$1.out"; } # NAME STEP
run_words="$FAULTLINE run --log-dir $work/rank-logs --"

# Each worker in a wrapper of its own.
job=$(WORKER_RUN=$run_words submit_torchrun workers 100000)
wait_until 180 stepped workers 10 || { cat "$work/job-workers.out"; give_up "the workers made no step"; }
mapfile -t nodes < <(job_nodes "$job")
printf '%s exception\n' "${nodes[1]}" >"$work/faults"
wait_until 60 job_is "$job" FAILED || { cat "$work/job-workers.out"; give_up "the job whose rank raised did not fail: $(job_state "$job")"; }
: >"$work/faults"
pass_equal "a log for each host and rank, numbered by torchrun" \
  "$job-${nodes[0]}-0.log $job-${nodes[0]}-1.log $job-${nodes[1]}-2.log $job-${nodes[1]}-3.log" \
  "$(cd "$work/rank-logs" && echo "$job"-*.log)"
pass_match "rank 0's own output is in its log" 'step 10 loss' "$work/rank-logs/$job-${nodes[0]}-0.log"
pass_match "and the exception in that of a rank that raised" "KeyError: 'input_ids'" <(cat "$work/rank-logs/$job-${nodes[1]}-"[23].log)
pass_if "but not in that of another" eval "! grep -q KeyError '$work/rank-logs/$job-${nodes[0]}-0.log'"
workload_found() { ask verdicts --json | jq -e --arg a "$job#0" 'any(.verdicts[]; .attempt == $a and .cause == "software.user_exception")' >/dev/null; }
pass_if "a rank that raised is the workload" wait_until 30 workload_found
pass_equal "and no node is drained for it" "" "$(sinfo -h -N -t drain -o %N)"

# Each node's torchrun in a wrapper.
job=$(LAUNCHER_RUN=$run_words submit_torchrun launcher 40)
wait_until 180 stepped launcher 10 || { cat "$work/job-launcher.out"; give_up "the workers of the wrapped torchrun made no step"; }
bad=$(job_nodes "$job" | tail -n 1)
printf '%s ecc\n' "$bad" >"$work/faults"
ecc_error "$bad"
wait_until 30 drained_by_faultline "$bad" || give_up "$bad was not drained"
: >"$work/faults"
pass "$bad was drained"
wait_until 240 job_is "$job" COMPLETED || { tail -n 20 "$work/job-launcher.out"; give_up "the job did not end: $(job_state "$job")"; }
pass "the job ran to its end on other nodes"
pass_equal "it was requeued once" "1" "$(job_restarts "$job")"
pass_match "it went on from a checkpoint" 'resumed from step [1-9]' "$work/job-launcher.out"
pass_if "the launcher's log holds what its workers printed" grep -q 'step 10 loss' "$work/rank-logs/$job"-*-0.log
pass_equal "no other node was touched" "$bad" "$(sinfo -h -N -t drain -o %N)"
finish
