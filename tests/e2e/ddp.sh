#!/usr/bin/env bash
# PyTorch DDP (gloo) under srun and `faultline run`: an ECC error on one node, and the job back from its last checkpoint.
. "$(dirname "${BASH_SOURCE[0]}")/lib/begin.sh"

/usr/bin/python3 -c 'import torch' 2>/dev/null || give_up "python3-torch is not installed: ./dev test installs it"
start_slurm_with_faultline 6
: >"$work/faults"
job=$(cd "$work" && CHECKPOINTS=$work/checkpoints FAULTLINE_RUN="$FAULTLINE run --log-dir $work/rank-logs --" \
  submit --output="$work/job-%A-%a.out" "$here/tests/e2e/train_ddp.sbatch" --steps 60 --checkpoint-every 5 --fault-file "$work/faults")
wait_until 60 job_is "$job" RUNNING || give_up "the job did not start"
wait_until 120 stepped 10 || { outputs | tail -n 20; give_up "the job made no step"; }
bad=$(job_nodes "$job" | sed -n 3p)
printf '%s ecc\n' "$bad" >"$work/faults"
ecc_error "$bad"
wait_until 30 drained_by_faultline "$bad" || { ask verdicts --all; ask actions --all; give_up "$bad was not drained"; }
: >"$work/faults"
pass "$bad was drained"
wait_until 240 job_is "$job" COMPLETED || { ask actions --all; outputs | tail -n 20; give_up "the job did not end: $(job_state "$job")"; }
pass "the job ran to its end"
pass_if "it went on from a checkpoint" eval "outputs | grep -q 'resumed from step'"
pass_equal "it was requeued once" "1" "$(job_restarts "$job")"
finish
