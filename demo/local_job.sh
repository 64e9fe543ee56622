#!/usr/bin/env bash
# What a job of the embedded scheduler runs: mpirun with one rank on each of FAULTLINE_NODES, each below `faultline run`.
#   local_job.sh "RUN PREFIX" COMMAND...
set -euo pipefail
read -ra prefix <<<"$1"; shift
IFS=, read -ra nodes <<<"$FAULTLINE_NODES"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
exec mpirun --oversubscribe --bind-to none --mca btl self,vader --mca mpi_yield_when_idle 1 -np "${#nodes[@]}" "${prefix[@]}" "$@"
