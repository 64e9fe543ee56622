#!/usr/bin/env bash
# People and faultline at the same node: an operator who drains first, in the same moment, or after; and a drained node that
# is rebooted. Nobody's reason is overwritten, and nothing of theirs is undone.
. "$(dirname "${BASH_SOURCE[0]}")/lib/begin.sh"

printf '[limits]\ndrained_share_max = 0.7\nsame_cause_nodes_max = 6\navailable_share_min = 0.1\n' >"$work/serve.toml"
start_slurm_with_faultline 8
left_to_owner() { # NODE: seen before the act, or by the act itself, which asks Slurm once more
  ask actions --all --json | jq -e --arg n "node:$1" '
    any(.actions[]; .action.kind == "drain_node" and .action.subject == $n
      and (.reason == "owned_by_other" or .reason == "already_drained" or (.outcome.detail // "" | contains("left alone"))))' >/dev/null
}
settled_for() { drained_by_faultline "$1" || left_to_owner "$1"; } # NODE

# First: the view may be half a second old, so the drain is seen in it or at the act itself.
scontrol update nodename=n1 state=drain reason="operator: fan"
ecc_error n1
pass_if "a node that a person has drained is left to them" wait_until 30 left_to_owner n1
pass_equal "with their reason" "operator: fan" "$(node_reason n1)"

# In the same moment, four times with other offsets: whoever is second sees the first.
for i in 2 3 4 5; do
  ecc_error "n$i"
  sleep "0.$(((i - 2) * 25 + 10))"
  scontrol update nodename="n$i" state=drain reason="operator: looking at n$i"
done
for i in 2 3 4 5; do
  wait_until 30 settled_for "n$i" || { ask actions --all; fail "n$i: nothing was concluded"; }
  pass_if "n$i is drained" node_is_drained "n$i"
done
# What a person wrote after us stays, too: faultline never writes a second time. Slurm cannot compare and set, so what is
# written in the few milliseconds between our last look and our write is overwritten: slurmctld's log says who came second.
writers_of() { # NODE: who set its reason, in slurmctld's order
  sed -n -E "s/.*update_node: node $1 reason set to: ([a-z]+).*/\1/p" "$FAULTLINE_SLURM_DIR/log/slurmctld.log" | tr '\n' ' '
}
sleep 2
theirs=n1
for i in 2 3 4 5; do
  writers=$(writers_of "n$i")
  expected="operator: looking at n$i"
  [[ $writers != "operator faultline " ]] || expected=$(node_reason "n$i" | grep '^faultline:' || true)
  pass_match "n$i: each wrote once at most" '^(operator|faultline operator|operator faultline) $' <(printf '%s\n' "$writers")
  [[ $expected == faultline* ]] || theirs=n$i
  pass_equal "n$i: who wrote last is whose reason stands" "$expected" "$(node_reason "n$i")"
done
pass_if "a node whose reason is the operator's is not given back by us" \
  eval "! '$FAULTLINE' return '$theirs' --store '$work/faultline.db' >'$work/return.out' 2>&1"
pass_match "and the answer says whose it is" 'drained by root: operator: ' "$work/return.out"

# A drained node that is rebooted: Slurm sees it go and come back; it stays out until somebody returns it.
ecc_error n6
wait_until 30 drained_by_faultline n6 || { ask actions --all; give_up "n6 was not drained"; }
reason=$(node_reason n6)
"$slurm_cluster" kill-node n6
is_down() { [[ $(node_state n6) == *DOWN* || $(node_state n6) == *'*'* ]]; }
wait_until 40 is_down || fail "Slurm did not notice that n6 is gone: $(node_state n6)"
"$slurm_cluster" start-node n6
# Slurm takes a node back by itself only from a reason of its own: with ours on it n6 stays DOWN, but answers again.
is_back() { [[ $(node_state n6) == *DRAIN* && $(node_state n6) != *NOT_RESPONDING* ]]; }
wait_until 40 is_back || fail "n6 did not come back: $(node_state n6)"
sleep 2
pass_if "a drained node that was rebooted is still drained" node_is_drained n6
pass_equal "with our reason" "$reason" "$(node_reason n6)"
pass_equal "and was drained once" "1" \
  "$(ask actions --json --limit 500 | jq '[.actions[] | select(.action.kind == "drain_node" and .action.subject == "node:n6" and .outcome.status == "done")] | length')"
pass_if "and can be given back" "$FAULTLINE" return n6 --store "$work/faultline.db"
in_service() { [[ $(node_state n6) == IDLE ]]; }
wait_until 20 in_service || { ask actions; ask nodes; }
pass_equal "which puts it back into Slurm" IDLE "$(node_state n6)"
pass_equal "no other node was touched" "" "$(for i in 7 8; do node_is_drained "n$i" && echo "n$i"; done)"
finish
