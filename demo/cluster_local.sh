# shellcheck shell=bash
# The embedded scheduler: nodes are processes of this machine. Sourced by demo/run.

local_state=$work/cluster

start_cluster_and_faultline() {
  scene "the embedded scheduler: nodes n1 to n7 are processes of this machine, n7 is a spare"
  "$FAULTLINE" local init --state "$local_state" --nodes n1,n2,n3,n4,n5,n6,n7 --spares 1 >/dev/null
  make_certificates n1 n2 n3 n4 n5 n6 n7
  at_exit stop_faultline
  start_controller --scheduler local --local-state "$local_state" --mode act --poll-ms 500
  start_agents n1 n2 n3 n4 n5 n6 n7
  step "faultline serve (mode act) and 7 agents, mutual TLS"
}

submit_training() { # CHECKPOINTS STEPS [OPTIONS OF 'local submit'...]; prints the job
  local checkpoints=$1 steps=$2; shift 2
  "$FAULTLINE" local submit --state "$local_state" --nodes "4" "$@" -- \
    "$here/demo/local_job.sh" "$FAULTLINE run --log-dir $work/rank-logs --" \
    "$TRAIN_LM" --checkpoint-dir "$checkpoints" --steps "$steps" --checkpoint-every 10 --step-ms-min 100 --fault-file "$work/faults"
}
job_json() { # JOB
  "$FAULTLINE" local queue --state "$local_state" --json | jq --arg j "$1" '[.jobs[] | select(.job == $j)][0]'
}
nodes_of() { job_json "$1" | jq -r '.nodes[]?'; }
state_of() { job_json "$1" | jq -r '.state // empty'; }
is_running() { [[ $(state_of "$1") == running ]]; }
is_completed() { [[ $(state_of "$1") == completed ]]; }
node_out_of_service() {
  "$FAULTLINE" local nodes --state "$local_state" --json | jq -e --arg n "$1" '.nodes[] | select(.name == $n) | .drained' >/dev/null
}
reason_of() {
  "$FAULTLINE" local nodes --state "$local_state" --json | jq -r --arg n "$1" '.nodes[] | select(.name == $n) | .drain_reason'
}
