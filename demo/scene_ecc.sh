# shellcheck shell=bash
# Scene 1: one GPU gets an uncorrectable ECC error in the middle of a training run. Sourced by demo/run.

scene "scene 1: a 4-node training job, and an uncorrectable ECC error on one of its GPUs"
checkpoints=$work/checkpoints-1
: >"$work/faults"
job=$(submit_training "$checkpoints" 120)
trained_to() { grep -qE "^.*step $1 " "$work"/job-*.out "$local_out" 2>/dev/null; } # STEP
local_out=${local_state:-$work/none}/jobs/$job.0.out
wait_until 60 is_running "$job" || give_up "job $job did not start"
step "job $job trains on $(nodes_of "$job" | tr '\n' ' ')"
wait_until 120 trained_to 25 || give_up "job $job made no progress"

victim=$(nodes_of "$job" | sed -n 3p)
fault_ms=$(now_ms)
ecc_error "$victim"
printf '%s ecc\n' "$victim" >"$work/faults"
step "fault: kernel lines (Xid 48, 63, 95) on $victim, and the CUDA error in its rank"

drained_ok() { node_out_of_service "$victim" && drained_by_faultline "$victim"; }
wait_until 30 drained_ok || { ask verdicts --all; ask actions --all; tail -n 20 "$work/serve.log"; give_up "$victim was not drained"; }
: >"$work/faults"
moved() { is_running "$job" && ! nodes_of "$job" | grep -qx "$victim"; }
wait_until 60 moved || { ask actions --all; give_up "job $job did not restart elsewhere"; }
restart_ms=$(now_ms)
job_outputs() { cat "$work"/job-*.out "${local_state:-$work/none}/jobs/$job".*.out 2>/dev/null || true; }
resumed() { job_outputs | grep -q 'resumed from step'; }
wait_until 60 resumed || give_up "job $job did not resume from a checkpoint"
first_new_step() { job_outputs | sed -n '/resumed from step/,$p' | grep -qE 'step [0-9]+ loss'; }
wait_until 60 first_new_step || give_up "job $job made no step after its restart"
new_step_ms=$(now_ms)
wait_until 180 is_completed "$job" || give_up "job $job did not end: $(state_of "$job")"

printf '\n    time line\n'
timeline_line "$fault_ms" "fault on $victim"
timeline_of_drain "$victim"
timeline_line "$restart_ms" "job $job runs again on $(nodes_of "$job" | tr '\n' ' ')"
timeline_line "$new_step_ms" "first new step ($(job_outputs | grep -o 'resumed from step [0-9]*' | tail -n 1))"
printf '\n'
pass "$victim was drained by faultline: $(reason_of "$victim")"
pass "job $job came back without $victim and ran to its end"
pass_if "the chain of the drain goes down to the raw line" eval "ask why \"\$(drain_of $victim)\" | grep -q 'NVRM: Xid'"
printf '\n'
ask why "$(drain_of "$victim")" | head -n 40 | sed 's/^/    /'
