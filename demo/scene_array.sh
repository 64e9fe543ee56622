# shellcheck shell=bash
# Scene 2: an array whose tasks fail on one node, each with another message, and no kernel line tells. "Out of memory" blames
# no node, so the next task starts there too and says ECC error. Two failures with a node in common raise the node: the array
# goes on without it, and that it then runs to an end is the witness that it was not the program. Sourced by demo/run.

scene "scene 2: an array fails twice on one node, each time with another message, and the kernel is silent"
: >"$work/faults"
# shellcheck disable=SC2086
array=$(submit_training "$work/checkpoints-2" 100 --array=1-3%1 ${array_options:-})
task() { printf '%s_%s' "$array" "$1"; } # NUMBER
on_bad() { nodes_of "$1" | grep -qx "$bad"; } # JOB
says_on_bad() { # TASK FAULT MESSAGE: the rank on $bad will fail so
  step "task $1 runs on $(nodes_of "$(task "$1")" | tr '\n' ' '); its rank on $bad will say: $3"
  printf '%s %s\n' "$bad" "$2" >"$work/faults"
}
left_bad() { ! is_running "$(task "$1")" || ! on_bad "$(task "$1")"; } # NUMBER

wait_until 60 is_running "$(task 1)" || give_up "task 1 did not start"
bad=$(nodes_of "$(task 1)" | sed -n 2p)
fault_ms=$(now_ms)
says_on_bad 1 oom "CUDA error: out of memory"
wait_until 60 left_bad 1 || give_up "task 1 did not fail"
: >"$work/faults"
wait_until 120 is_running "$(task 2)" || give_up "task 2 did not start"
on_bad "$(task 2)" || give_up "task 2 does not run on $bad but on $(nodes_of "$(task 2)" | tr '\n' ' ')"
says_on_bad 2 ecc "CUDA error: uncorrectable ECC error encountered"
wait_until 60 left_bad 2 || give_up "task 2 did not fail"
: >"$work/faults"

excluded() { exclusion_of "$(task 2)" "$bad"; }
wait_until 60 excluded || { ask verdicts --all; ask actions --all; give_up "task 2 was not put back without $bad"; }
for number in 2 3; do
  wait_until 240 is_completed "$(task $number)" || give_up "task $number did not end: $(state_of "$(task $number)")"
  pass_if "task $number ran to its end without $bad" eval "! on_bad $(task $number)"
done

drained_ok() { node_out_of_service "$bad" && drained_by_faultline "$bad"; }
wait_until 60 drained_ok || { ask verdicts --all; ask actions --all; give_up "$bad was not drained"; }
printf '\n    time line\n'
{
  timeline_line "$(exclusion_of "$(task 2)" "$bad")" "task 2 put back without $bad: $(cause_of_exclusion "$(task 2)")"
  timeline_of_drain "$bad"
} | sort -g
printf '\n'
pass_match "$bad was drained, and why names the witness" "(was completed|goes on) without $bad" <(ask why "$(drain_of "$bad")")
