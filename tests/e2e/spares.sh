#!/usr/bin/env bash
# Where the job goes: a spare under the lost node's switch, out of the site's reservation of spares when nothing else is free.
. "$(dirname "${BASH_SOURCE[0]}")/lib/begin.sh"

cluster_options=(--topology) # s1: n1 to n3, s2: n4 to n6, s3: n7
start_slurm_with_faultline 7 --spare-reservation spares
: >"$work/faults"
scontrol create reservation reservationname=spares users=root starttime=now duration=unlimited nodes=n3,n7 flags=ignore_jobs >/dev/null
job=$(submit_train 400 -N 5)
wait_until 60 job_is "$job" RUNNING || give_up "the job did not start: $(job_field "$job" Reason)"
wait_until 60 stepped 15 || give_up "the job made no step"
pass_equal "no spare is used while the nodes are well" "n1 n2 n4 n5 n6" "$(job_nodes "$job" | xargs)"

ecc_error n2
wait_until 30 drained_by_faultline n2 || give_up "n2 was not drained"
moved() { job_is "$job" RUNNING && ! job_runs_on "$job" n2; }
pass_if "the job runs again" wait_until 90 moved
pass_equal "with the spare under the same switch" "n1 n3 n4 n5 n6" "$(job_nodes "$job" | xargs)"
pass_equal "which has left the reservation, and the other has not" "n7" \
  "$(scontrol -o show reservation spares | tr ' ' '\n' | sed -n 's/^Nodes=//p')"
scancel "$job"
finish
