#!/usr/bin/env bash
# The training job itself, over real MPI: the same run gives the same losses, a run that was interrupted ends where the whole one
# ends, to the byte, and a damaged checkpoint is passed over for the newest valid one.
. "$(dirname "${BASH_SOURCE[0]}")/lib/begin.sh"

train() { # FOLDER STEPS
  RANKS=3 timeout 120 "$here/examples/train_lm/launch.sh" "$TRAIN_LM" --steps "$2" --checkpoint-every 10 --checkpoints-kept 9 \
    --checkpoint-dir "$work/$1" >>"$work/$1.out" 2>&1 || { tail -n 20 "$work/$1.out"; give_up "the training of $2 steps in $1 failed"; }
}
losses() { grep -oE 'step [0-9]+ loss [0-9.]+' "$work/$1.out" | sort -u -V; } # FOLDER
newest() { find "$work/$1" -type f ! -name '*.json' -printf '%p\n' | sort -V | tail -n 1; } # FOLDER
sum_of_last() { (cd "$(dirname "$(newest "$1")")" && find . -type f | sort | xargs sha256sum | sha256sum); } # FOLDER

train whole 30
train again 30
pass_if "there are losses to compare" test "$(losses whole | wc -l)" -ge 3
pass_equal "the same run gives the same losses" "$(losses whole)" "$(losses again)"
pass_equal "and the same checkpoint, to the byte" "$(sum_of_last whole)" "$(sum_of_last again)"

train parts 20
train parts 30
pass_if "an interrupted run goes on from its checkpoint" grep -q 'resumed from step 20' "$work/parts.out"
pass_equal "and ends where the whole one ends, to the byte" "$(sum_of_last whole)" "$(sum_of_last parts)"

train hurt 20
printf 'x' | dd of="$(newest hurt)" bs=1 seek=100 conv=notrunc 2>/dev/null
train hurt 30
pass_if "a damaged checkpoint is passed over for the newest valid one" grep -q 'resumed from step 10' "$work/hurt.out"
pass_equal "and the run ends where the whole one ends, to the byte" "$(sum_of_last whole)" "$(sum_of_last hurt)"
finish
