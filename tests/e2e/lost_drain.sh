#!/usr/bin/env bash
# slurmctld is killed between the answer to a drain and the saving of it, and comes back without: the drain is done again.
# Whoever resumes the node afterwards is a person, and is believed.
. "$(dirname "${BASH_SOURCE[0]}")/lib/begin.sh"

start_slurm_with_faultline 4
bad=n2
state=$FAULTLINE_SLURM_DIR/state
scontrol update nodename=n4 comment=known # a change, so that it saves
saved() { [[ -s $state/node_state ]]; }
wait_until 30 saved || give_up "Slurm did not save its state"
cp -a "$state" "$work/state-before"

ecc_error "$bad"
drained() { node_is_drained "$bad"; }
wait_until 30 drained || give_up "$bad was not drained"
reason=$(node_reason "$bad")
seen() { ask nodes --json | jq -e --arg n "$bad" 'any(.nodes[]; .node == $n and .phase == "drained")' >/dev/null; }
wait_until 10 seen || { ask nodes --json; fail "the controller did not see the drain"; }
wait_for_view || give_up "the controller has no new view"

"$slurm_cluster" kill-ctld
rm -rf "$state"
mv "$work/state-before" "$state"
"$slurm_cluster" start-ctld
told() { grep -q "lost the drain of $bad" "$work/serve.log"; }
pass_if "the loss is noticed" wait_until 30 told
pass_if "$bad is drained again" wait_until 30 drained
pass_equal "with the same reason" "$reason" "$(node_reason "$bad")"
settled() { ask actions --json | jq -e '[.actions[] | select(.action.kind == "drain_node")] | length == 1 and all(.outcome.status == "done")' >/dev/null; }
pass_if "and it is one act, done" wait_until 30 settled

scontrol update "nodename=$bad" state=resume
returned() { ask nodes --json | jq -e --arg n "$bad" 'any(.nodes[]; .node == $n and (.phase == "returned" or .phase == "in_service"))' >/dev/null; }
pass_if "a person's resume is believed" wait_until 40 returned
wait_for_view || give_up "the controller has no new view"
if drained; then fail "$bad was drained against a person's will"; else pass "and stands"; fi
finish
