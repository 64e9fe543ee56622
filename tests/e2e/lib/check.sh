# shellcheck shell=bash
# Counts checks and says at the end how many passed. Source it first in an end-to-end test:
#
#   . lib/check.sh
#   at_exit some_cleanup
#   pass_if "the job restarted" test "$restarts" = 1
#   finish
#
# A check that fails does not end the test: the later ones still tell something.

checks_passed=0 checks_failed=0
cleanups=()

pass() { checks_passed=$((checks_passed + 1)); printf 'ok    %s\n' "$*"; }
fail() { checks_failed=$((checks_failed + 1)); printf 'FAIL  %s\n' "$*"; }

pass_if() { # WHAT COMMAND...
  local what=$1; shift
  if "$@"; then pass "$what"; else fail "$what   ($*)"; fi
}

pass_equal() { # WHAT EXPECTED ACTUAL
  if [[ $2 == "$3" ]]; then pass "$1"; else fail "$1: expected '$2', got '$3'"; fi
}

pass_match() { # WHAT EXTENDED-REGEX FILE
  if grep -qE -- "$2" "$3"; then pass "$1"; else fail "$1: no line like '$2' in $3"; fi
}

# For what the rest of the test cannot do without.
give_up() { fail "$*"; finish; }

at_exit() { cleanups+=("$*"); } # COMMAND...; run last first, whatever ends the test

run_cleanups() {
  local i
  for ((i = ${#cleanups[@]} - 1; i >= 0; i--)); do eval "${cleanups[i]}" || true; done
  cleanups=()
}
trap run_cleanups EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# What a test shows of its state when a check has failed; a library may put more into it.
show_state() { :; }

finish() {
  ((checks_failed == 0)) || show_state || true
  printf '%d passed, %d failed\n' "$checks_passed" "$checks_failed"
  # A test that checked nothing has not passed.
  if ((checks_failed == 0 && checks_passed > 0)); then exit 0; else exit 1; fi
}

wait_until() { # SECONDS COMMAND...: polls; fails when the time is over
  local deadline=$((SECONDS + $1)); shift
  until "$@" >/dev/null 2>&1; do
    ((SECONDS <= deadline)) || return 1
    sleep 0.1
  done
}
