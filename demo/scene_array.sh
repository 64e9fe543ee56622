# shellcheck shell=bash
# Scene 2: the tasks of an array fail one after another on the same node, each with a message of its own; no kernel line names
# the node. The second failure with that node in common is enough. Sourced by demo/run.

scene "scene 2: an array job fails on one node, each time with another message"
: >"$work/faults"
# shellcheck disable=SC2086
array=$(submit_training "$work/checkpoints-2" 60 --array=1-3%1 ${array_options:-})
task() { printf '%s_%s' "$array" "$1"; } # NUMBER
wait_until 60 is_running "$(task 1)" || give_up "task 1 did not start"
bad=$(nodes_of "$(task 1)" | sed -n 2p)
printf '%s ecc\n' "$bad" >"$work/faults"
fault_ms=$(now_ms)
step "task 1 runs on $(nodes_of "$(task 1)" | tr '\n' ' '); its rank on $bad will say: uncorrectable ECC error (and no kernel line tells)"

wait_until 90 is_running "$(task 2)" || give_up "task 2 did not start"
step "task 2 runs on $(nodes_of "$(task 2)" | tr '\n' ' ')"
if nodes_of "$(task 2)" | grep -qx "$bad"; then
  printf '%s oom\n' "$bad" >"$work/faults"
  step "its rank on $bad will say: CUDA out of memory"
fi
drained_ok() { node_out_of_service "$bad" && drained_by_faultline "$bad"; }
wait_until 60 drained_ok || { ask verdicts --all; ask actions --all; give_up "$bad was not drained"; }
: >"$work/faults"
timeline_line "$(now_ms)" "$bad drained: $(reason_of "$bad")"
for number in 2 3; do
  wait_until 240 is_completed "$(task $number)" || give_up "task $number did not end: $(state_of "$(task $number)")"
  pass_if "task $number ran to its end without $bad" eval "! nodes_of $(task $number) | grep -qx $bad"
done
