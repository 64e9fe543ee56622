#!/usr/bin/env bash
# Starts an MPI program with the options that this machine's fake hosts need; the one place that
# knows them.
#
#   launch.sh COMMAND...           in a Slurm job: one rank on each node of the allocation
#   RANKS=4 launch.sh COMMAND...   by hand: 4 ranks here, as if on nodes n1, n2, n3, n4
#
# Each node may be a UTS namespace of one machine. Ranks on "different hosts" then do not share
# memory, and reach each other through loopback, which Open MPI would by itself refuse to use.
set -euo pipefail
(($#)) || { sed -n '2,6p' "$0" >&2; exit 2; }

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

options=(--mca btl "self,tcp" --mca btl_tcp_if_include lo --mca oob_tcp_if_include lo
  --oversubscribe --bind-to none
  # A waiting rank gives its core away: there are more ranks than cores.
  --mca mpi_yield_when_idle 1)
if [[ -n ${SLURM_JOB_ID:-} ]]; then
  options+=(--map-by ppr:1:node)
else
  options+=(-np "${RANKS:-4}")
  # shellcheck disable=SC2016
  set -- sh -c 'FAULTLINE_NODE=n$((OMPI_COMM_WORLD_RANK + 1)) exec "$0" "$@"' "$@"
fi
exec mpirun "${options[@]}" "$@"
