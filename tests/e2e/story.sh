#!/usr/bin/env bash
# The story that all of this is for: a GPU with uncorrectable ECC errors crashes an array task at night. The next task must
# start on healthy nodes, and `faultline why` of the drain must lead to the raw line, the host and the GPU.
. "$(dirname "${BASH_SOURCE[0]}")/lib/begin.sh"

cluster_options=(--db) # with accounting, as most sites have it; the other tests run without
start_slurm_with_faultline 9
: >"$work/faults"
array=$(submit_train 60 --array=1-3%1 --no-requeue)
wait_until 60 job_is "${array}_1" RUNNING || give_up "task 1 did not start"
wait_until 60 stepped 5 || give_up "task 1 made no step"
bad=$(job_nodes "${array}_1" | sed -n 2p)
printf '%s ecc\n' "$bad" >"$work/faults"
ecc_error "$bad" 0000:8d:00

wait_until 60 drained_by_faultline "$bad" || { ask verdicts; ask actions --all; give_up "$bad was not drained"; }
pass "$bad was drained"
wait_until 60 job_is "${array}_2" RUNNING || give_up "task 2 did not start"
pass_if "the next task started on healthy nodes" eval "! job_runs_on ${array}_2 $bad"
: >"$work/faults"
wait_until 120 job_is "${array}_2" COMPLETED || give_up "task 2 did not end: $(job_state "${array}_2")"
pass "the next task ran to its end"
why=$(ask why "$(drain_of "$bad")")
pass_if "why shows the host and the GPU" grep -q "gpu:$bad/0000:8d:00.0" <<<"$why"
pass_if "why shows the raw line" grep -q 'NVRM: Xid (PCI:0000:8d:00): 48' <<<"$why"
pass_if "why shows where the line is" grep -q "kernel-$bad.log @" <<<"$why"
pass_if "why shows the card" grep -q 'GPU-6a9c1f0e-52d7-4b38-8c11-0d5b9f7e2a44' <<<"$why"
pass_match "the drain's reason names the cause" '^faultline:a-[0-9a-f]+ gpu\.' <(node_reason "$bad")

if timeout 20 "$FAULTLINE" serve --store "$store" --plain --listen 127.0.0.1:0 --status-listen '' \
  --scheduler slurm --slurm-conf "$SLURM_CONF" >"$work/second.out" 2>&1; then fail "a second controller served"; fi
pass_match "a second controller on the same store is refused" 'one store, one controller' "$work/second.out"

# Only the job's own words say it, and its tasks may not run again: no drain, but the next task starts elsewhere.
array=$(submit_train 600 --array=1-2%1 --no-requeue --output="$work/words-%A-%a.out")
wait_until 60 job_is "${array}_1" RUNNING || give_up "task 1 of the second array did not start"
words_stepped() { grep -qE 'step [0-9]+ loss' "$work/words-$array-1.out"; }
wait_until 60 words_stepped || give_up "task 1 of the second array made no step"
worded=$(job_nodes "${array}_1" | sed -n 2p)
printf '%s ecc\n' "$worded" >"$work/faults"
wait_until 60 job_is "${array}_2" RUNNING || give_up "task 2 of the second array did not start"
: >"$work/faults"
pass_if "the next task keeps off the node that only the job's words name" eval "! job_runs_on ${array}_2 $worded"
pass_if "which is not drained for words" eval "! drained_by_faultline $worded"
exclusion_of() {
  ask actions --json --limit 500 | jq -r --arg j "job:$1" '[.actions[] | select(.action.kind == "requeue_excluding" and .action.subject == $j and .outcome.status == "done")][0].outcome.detail // empty'
}
pass_match "and what cannot be requeued is said" 'no-requeue' <(exclusion_of "${array}_1")
scancel "$array"
gone() { [[ -z $(squeue -h -j "$array" -t PD,R,CG 2>/dev/null) ]]; }
wait_until 60 gone || fail "the second array did not end"

# Giving it back is a person's word, and only for what faultline drained.
other=$(sinfo -h -N -t idle -o %N | grep -vx "$bad" | head -n 1)
scontrol update nodename="$other" state=drain reason="new power supply"
sleep 1.5
pass_if "a drain of somebody else is not undone" eval "! '$FAULTLINE' return $other --store $work/faultline.db >$work/return.out 2>&1"
pass_match "and the answer says whose it is" 'new power supply' "$work/return.out"
pass_if "our own drain is" "$FAULTLINE" return "$bad" --store "$work/faultline.db"
in_service() { [[ $(node_state "$bad") != *DRAIN* ]]; }
pass_if "and the node is back in Slurm" wait_until 20 in_service
again=$(cd "$work" && submit -N 1 -w "$bad" --requeue --output="$work/again.out" --wrap 'sleep 6')
wait_until 30 job_is "$again" COMPLETED || fail "the job on the returned node did not end: $(job_state "$again")"
pass_equal "a job there is left alone" "0" "$(job_restarts "$again")"
pass_if "what was known before does not take the node out once more" in_service
pass_equal "the other drain still stands" "new power supply" "$(node_reason "$other")"
finish
