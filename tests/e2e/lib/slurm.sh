# shellcheck shell=bash
# What a test asks of Slurm, and a cluster of its own for each test. Needs lib/check.sh.

lib_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
slurm_cluster=$lib_folder/../slurm_cluster

# A folder and a port range of its own, by process id, so that tests can run side by side.
start_cluster() { # ARGUMENTS OF 'up'...
  export FAULTLINE_SLURM_DIR=${FAULTLINE_SLURM_DIR:-${TMPDIR:-/tmp}/faultline-slurm-$$}
  export FAULTLINE_SLURM_PORT=${FAULTLINE_SLURM_PORT:-$((18000 + $$ % 100 * 100))}
  at_exit "'$slurm_cluster' down"
  "$slurm_cluster" up "$@" >"$work/cluster.log" 2>&1 || { cat "$work/cluster.log"; give_up "the cluster did not start"; }
  eval "$("$slurm_cluster" env)"
}

# One field of 'scontrol show'; empty when there is no such job or node.
job_field() { # JOB FIELD
  scontrol -o show job "$1" 2>/dev/null | head -n 1 | tr ' ' '\n' | sed -n "s/^$2=//p" | head -n 1
}
node_field() { # NODE FIELD
  scontrol -o show node "$1" 2>/dev/null | tr ' ' '\n' | sed -n "s/^$2=//p" | head -n 1
}

job_state() { job_field "$1" JobState; }       # RUNNING, PENDING, COMPLETED, ...
job_nodes() { scontrol show hostnames "$(job_field "$1" NodeList)"; }
job_restarts() { job_field "$1" Restarts; }
node_state() { node_field "$1" State; }        # IDLE, IDLE+DRAIN, ALLOCATED, ...
node_reason() { scontrol -o show node "$1" | sed -n 's/.* Reason=\(.*\) \[.*/\1/p'; }

job_is() { [[ $(job_state "$1") == "$2" ]]; }                # JOB STATE
job_runs_on() { job_nodes "$1" | grep -qx "$2"; }            # JOB NODE
node_is_drained() { [[ $(node_state "$1") == *DRAIN* ]]; }   # NODE

submit() { sbatch --parsable "$@"; } # prints the job's number
