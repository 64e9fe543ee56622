# shellcheck shell=bash
# The real Slurm: 9 nodes, 3 switches of 3. Sourced by demo/run.
# shellcheck source=tests/e2e/lib/slurm.sh
. "$here/tests/e2e/lib/slurm.sh"

start_cluster_and_faultline() {
  scene "a real Slurm: slurmctld and 9 slurmd with own host names and 8 fake GPUs each"
  export FAULTLINE_SLURM_DIR=$work/slurm
  start_cluster -n 9 --topology
  step "$(sinfo -h -o '%D nodes, state %t, GRES %G' | head -n 1)"
  make_certificates n1 n2 n3 n4 n5 n6 n7 n8 n9
  at_exit stop_faultline
  start_controller --scheduler slurm --slurm-conf "$SLURM_CONF" --mode act --poll-ms 500
  start_agents n1 n2 n3 n4 n5 n6 n7 n8 n9
  step "faultline serve (mode act) and 9 agents, mutual TLS"
}

submit_training() { # CHECKPOINTS STEPS [SBATCH OPTIONS...]; prints the job
  local checkpoints=$1 steps=$2; shift 2
  (cd "$work" && CHECKPOINTS=$checkpoints FAULTLINE_RUN="$FAULTLINE run --log-dir $work/rank-logs --" \
    sbatch --parsable --nodes=4 --output="$work/job-%A-%a.out" "$@" "$here/tests/e2e/train_mpi.sbatch" \
    --steps "$steps" --checkpoint-every 10 --step-ms-min 100 --fault-file "$work/faults")
}
nodes_of() { job_nodes "$1"; } # JOB
state_of() { job_state "$1"; }
is_running() { job_is "$1" RUNNING; }
is_completed() { job_is "$1" COMPLETED; }
node_out_of_service() { node_is_drained "$1"; }
reason_of() { node_reason "$1"; }
return_demo_node() { "$FAULTLINE" return "$1" --store "$work/faultline.db"; }
# The user's own exclusion leaves five nodes for the four of a task, so that the next task meets the same node again. It must
# be merged with ours, not replaced.
array_options=--exclude=n7,n8,n9
