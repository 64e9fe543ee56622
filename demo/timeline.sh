# shellcheck shell=bash
# The time line of one fault, in milliseconds since it. Sourced by demo/run.

now_ms() { date +%s%3N; }

ms_of() { date -d "$1" +%s%3N; } # an ISO time out of faultline's JSON

since_fault() { printf '%+9.3f s' "$(((${1} - fault_ms)))e-3"; } # MILLISECONDS SINCE 1970

timeline_line() { # MILLISECONDS WHAT
  [[ -n $1 ]] && printf '    %s  %s\n' "$(since_fault "$1")" "$2"
}

# Prints the chain behind the drain of NODE: evidence, verdict, drain.
timeline_of_drain() { # NODE
  local node=$1 action verdict events
  action=$(ask actions --json --limit 500 | jq --arg n "node:$node" \
    '[.actions[] | select(.action.kind == "drain_node" and .action.subject == $n and .outcome.status == "done")][0]')
  verdict=$(ask why "$(jq -r .action.id <<<"$action")" --json | jq '.why[0]')
  events=$(jq -r '[.events[] | select(.received_at != null) | .received_ns] | min / 1e6 | floor' <<<"$verdict")
  timeline_line "$events" "first evidence reached the controller: $(jq -r '.events[0] | .signature + " on " + .subject' <<<"$verdict")"
  timeline_line "$(ms_of "$(jq -r .decided_at <<<"$action")")" \
    "verdict and decision: $(jq -r '.verdict | .cause + " on " + .subject + ", " + .status' <<<"$verdict")"
  timeline_line "$(ms_of "$(jq -r .outcome.at <<<"$action")")" "$node drained: $(jq -r .outcome.detail <<<"$action")"
}

# Prints when JOB was put back without NODE; fails while it was not.
exclusion_of() { # JOB NODE
  local at
  at=$(requeue_of "$1" | jq -r --arg n "$2" 'select(.action.nodes | index($n)) | .outcome.at')
  [[ -n $at ]] && ms_of "$at"
}
cause_of_exclusion() { requeue_of "$1" | jq -r '.action.reason'; } # JOB
requeue_of() { # JOB
  ask actions --json --limit 500 | jq --arg j "job:$1" \
    '[.actions[] | select(.action.kind == "requeue_excluding" and .action.subject == $j and .outcome.status == "done")][0] // empty'
}
