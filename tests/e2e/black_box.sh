#!/usr/bin/env bash
# The black box of a real MPI job: the training runs with libfaultline-openmpi.so before its MPI, one rank is stopped, and the
# files in shared memory say who waits and for whom, while it runs and after all of it was killed.
. "$(dirname "${BASH_SOURCE[0]}")/lib/begin.sh"

bin=$(cd "$(dirname "$FAULTLINE")" && pwd)
for shim in "$bin/../lib/libfaultline-openmpi.so" "$bin/../lib/faultline/libfaultline-openmpi.so"; do [[ -e $shim ]] && break; done
[[ -e $shim ]] || give_up "no libfaultline-openmpi.so beside $FAULTLINE"
rings=$work/rings
train() { # STEPS [OPTIONS...]
  local steps=$1; shift
  RANKS=4 FAULTLINE_RING_DIR=$rings "$here/examples/train_lm/launch.sh" env LD_PRELOAD="$shim" "$TRAIN_LM" \
    --steps "$steps" --checkpoint-every 1000 --checkpoint-dir "$work/checkpoints" "$@" >>"$work/train.out" 2>&1
}
boxes() { "$FAULTLINE" ring --json "$rings"/*.ring; }
of_rank() { boxes | jq -c --argjson r "$1" '.rings[] | select(.identity.rank == $r)'; } # RANK
world_of() { of_rank "$1" | jq -c '.communicators[] | select(.name == "MPI_COMM_WORLD")'; }

pass_if "a program without MPI does not mind the library" env LD_PRELOAD="$shim" LD_BIND_NOW=1 /bin/true
timeout 120 bash -c "$(declare -f train); here=$here TRAIN_LM=$TRAIN_LM shim=$shim work=$work rings=$rings; train 20" || give_up "the training failed: $(tail -n 5 "$work/train.out")"
pass_equal "each rank left a black box" "4" "$(boxes | jq '.rings | length')"
pass_equal "all of which are finished" "finished" "$(boxes | jq -r '.rings[].state' | sort -u)"
pass_equal "and nothing is in flight" "0" "$(boxes | jq '[.rings[].communicators[].in_flight[]] | length')"
pass_equal "they agree on what the communicator is called" "1" "$(boxes | jq -r '.rings[].communicators[] | select(.name == "MPI_COMM_WORLD") | .id' | sort -u | wc -l)"
pass_equal "and on how many collectives there were" "1" "$(boxes | jq -r '.rings[].communicators[] | select(.name == "MPI_COMM_WORLD") | .started_total' | sort -u | wc -l)"

# Both MPIs, with communicators that are split and doubled, and calls that do not wait.
for mpi in openmpi mpich; do
  command -v "mpicc.$mpi" >/dev/null || give_up "no mpicc.$mpi: install what packages/apt.txt lists under [e2e]"
  "mpicc.$mpi" -o "$work/exchange.$mpi" "$here/tests/e2e/lib/exchange.c"
  rm -rf "$rings"
  library=$(dirname "$shim")/libfaultline-$mpi.so
  allowed=(); [[ $mpi == mpich ]] || allowed=(--allow-run-as-root --oversubscribe --mca btl "self,vader" --mca mpi_yield_when_idle 1)
  FAULTLINE_RING_DIR=$rings timeout 120 "mpirun.$mpi" "${allowed[@]}" -np 4 env LD_PRELOAD="$library" "$work/exchange.$mpi" \
    >"$work/exchange.out" 2>&1 || give_up "$mpi: $(tail -n 5 "$work/exchange.out")"
  pass_equal "$mpi: who speaks" "$mpi" "$(boxes | jq -r '.rings[].identity.library | split(" ")[0]' | sort -u)"
  pass_equal "$mpi: every call came and went" "100 100 200" \
    "$(of_rank 1 | jq -r '.communicators[] | select(.started_total == .completed_total) | .started_total' | sort -n | paste -sd' ')"
  pass_equal "$mpi: each communicator is called the same on all of its members" "2 2 2 2 2 4 4" \
    "$(boxes | jq -r '.rings[].communicators[].id' | sort | uniq -c | awk '{print $1}' | sort -n | paste -sd' ')"
done

rm -rf "$rings"
echo "n3 hang step=60" >"$work/faults" # rank 2, before its next all-reduce
train 100000 --step-ms-min 20 --fault-file "$work/faults" &
job=$!
at_exit "kill $job 2>/dev/null || true"
waiting() { [[ $(for r in 0 1 3; do world_of "$r" | jq -r '.in_flight[0].sequence // empty'; done | sort -u | wc -l) == 1 &&
  $(for r in 0 1 3; do world_of "$r" | jq '[.in_flight[] | select(.in_flight_s > 1)] | length'; done | paste -sd' ') == "1 1 1" ]]; }
pass_if "the others wait in one collective" wait_until 60 waiting
kill -STOP "$(of_rank 2 | jq .identity.pid)"
pass_equal "the one that was stopped is seen to be" "stopped" "$(of_rank 2 | jq -r .process)"
waits_in=$(world_of 0 | jq .in_flight[0].sequence)
pass_if "it never came to what the others wait in" test "$(world_of 2 | jq "[.in_flight[], .completed[]] | map(.sequence) | max")" -lt "$waits_in"
named() { [[ $(boxes | jq -c '[.waits[0] | .kind, .ranks, .waiting]') == '["not_joined",[2],3]' ]]; }
pass_if "together they say that rank 2 is waited for" wait_until 20 named
before=$(world_of 0 | jq -c '.in_flight[0] | [.operation, .sequence, .count]')
for pid in $(boxes | jq '.rings[].identity.pid'); do kill -KILL "$pid" 2>/dev/null || true; done
wait "$job" 2>/dev/null || true
pass_equal "after all of it was killed, the same can be read" "$before" "$(world_of 0 | jq -c '.in_flight[0] | [.operation, .sequence, .count]')"
pass_equal "and that the processes are gone" "ended" "$(boxes | jq -r '.rings[].process' | sort -u)"
finish
