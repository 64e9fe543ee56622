# shellcheck shell=bash
# Scene 2: a task of an array prints an ECC error on one node, and no kernel line tells. That is one job's word: its array
# leaves the node, which stays in service for others. Then another job fails on it with another message, and the node goes.
# Sourced by demo/run.

scene "scene 2: two jobs fail on one node, each with another message"
: >"$work/faults"
# shellcheck disable=SC2086
array=$(submit_training "$work/checkpoints-2" 200 --array=1-3%1 ${array_options:-})
task() { printf '%s_%s' "$array" "$1"; } # NUMBER
on_bad() { nodes_of "$1" | grep -qx "$bad"; } # JOB
wait_until 60 is_running "$(task 1)" || give_up "task 1 did not start"
bad=$(nodes_of "$(task 1)" | sed -n 2p)
printf '%s ecc\n' "$bad" >"$work/faults"
fault_ms=$(now_ms)
step "task 1 runs on $(nodes_of "$(task 1)" | tr '\n' ' '); its rank on $bad will say: uncorrectable ECC error (and no kernel line tells)"
failed_once() { ! is_running "$(task 1)" || ! on_bad "$(task 1)"; }
wait_until 60 failed_once || give_up "task 1 did not fail"
: >"$work/faults"

excluded() { exclusion_of "$(task 1)" "$bad"; }
wait_until 60 excluded || { ask verdicts --all; ask actions --all; give_up "task 1 was not put back without $bad"; }
timeline_line "$(exclusion_of "$(task 1)" "$bad")" "task 1 put back without $bad: $(cause_of_exclusion "$(task 1)")"
goes_on() { # prints the task that runs without $bad
  local number
  for number in 1 2 3; do
    if is_running "$(task $number)" && ! on_bad "$(task $number)"; then task $number; return; fi
  done
  return 1
}
# The first one to go on runs long enough; the later ones resume from its checkpoint and are short.
wait_until 240 eval 'goes_on >/dev/null' || give_up "the array did not go on"
runs=$(goes_on)
pass "the array goes on without $bad: $runs runs on $(nodes_of "$runs" | tr '\n' ' ')"
pass_if "$bad stays in service: one job's word drains no node" eval "! node_out_of_service $bad"

# shellcheck disable=SC2046
other=$(node_count=2 submit_training "$work/checkpoints-3" 60 $(options_to_land_on "$bad"))
printf '%s oom\n' "$bad" >"$work/faults"
wait_until 60 is_running "$other" || give_up "job $other did not start"
on_bad "$other" || give_up "job $other does not run on $bad but on $(nodes_of "$other" | tr '\n' ' ')"
fault_ms=$(now_ms)
step "job $other runs on $(nodes_of "$other" | tr '\n' ' '); its rank on $bad will say: CUDA out of memory"
drained_ok() { node_out_of_service "$bad" && drained_by_faultline "$bad"; }
wait_until 180 drained_ok || { ask verdicts --all; ask actions --all; give_up "$bad was not drained"; }
: >"$work/faults"
timeline_of_drain "$bad"
for job in "$(task 1)" "$(task 2)" "$(task 3)" "$other"; do
  wait_until 240 is_completed "$job" || give_up "job $job did not end: $(state_of "$job")"
  pass_if "job $job ran to its end without $bad" eval "! on_bad $job"
done
