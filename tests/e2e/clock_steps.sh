#!/usr/bin/env bash
# Clocks that jump: the agents of two nodes run with a clock of their own (libfaketime), which is stepped by hours while a job
# runs. No node is lost or drained for it, and a fault on such a node is still tied to the job that runs there now.
. "$(dirname "${BASH_SOURCE[0]}")/lib/begin.sh"

library=$(find /usr/lib -path "*/faketime/libfaketimeMT.so.1" -print -quit 2>/dev/null)
[[ -n $library ]] || give_up "no libfaketime: install what packages/apt.txt lists under [e2e]"
step_clock() { printf '%s\n' "$2" >"$work/clock-$1.new"; mv "$work/clock-$1.new" "$work/clock-$1"; } # NODE OFFSET

start_slurm_with_faultline 6
stop_agent() { local pid=${agent_pids[$1]}; kill "$pid"; wait "$pid" 2>/dev/null || true; }
for i in 0 1; do
  stop_agent "$i"
  step_clock "n$((i + 1))" +0
  LD_PRELOAD=$library FAKETIME_TIMESTAMP_FILE=$work/clock-n$((i + 1)) FAKETIME_NO_CACHE=1 FAKETIME_DONT_FAKE_MONOTONIC=1 \
    start_agent "n$((i + 1))"
done
sleep 2
: >"$work/faults"
job=$(submit_train 600) # on n1 to n4, as Slurm fills its nodes in order
wait_until 60 job_is "$job" RUNNING || give_up "the job did not start"
wait_until 60 stepped 15 || give_up "the job made no step"

step_clock n1 +3h; step_clock n2 -2h
sleep 4
step_clock n1 -3h
sleep 4
pass_equal "no node is drained for a clock that jumped" "0" "$(sinfo -h -N -t drain -o %N | wc -l)"
pass_equal "the job was left alone" "0" "$(job_restarts "$job")"
quiet() { ask verdicts --json | jq -e '[.verdicts[] | select(.status == "confirmed")] | length == 0' >/dev/null; }
pass_if "nothing was concluded from it" quiet

# n2's own clock is two hours behind, and so is what its kernel log says.
printf '%s n2 kernel: %s\n' "$(date -u -d '-2 hours' +%Y-%m-%dT%H:%M:%S.%6N+00:00)" \
  "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus." >>"$work/kernel-n2.log"
pass_if "a fault on a node whose clock is behind drains it" wait_until 30 drained_by_faultline n2
moved() { job_is "$job" RUNNING && ! job_runs_on "$job" n2; }
pass_if "and the job that runs there now goes on without it" wait_until 90 moved
pass_equal "no other node was drained" "n2" "$(sinfo -h -N -t drain,drng -o %N | sort -u)"
scancel "$job"
finish
