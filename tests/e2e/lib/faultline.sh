# shellcheck shell=bash
# A whole faultline beside a cluster: certificates, one controller, an agent a node, each with a kernel log of its own that a
# test writes into. Needs lib/check.sh. All under $work; all that is started is stopped by its process id.

: "${FAULTLINE:?path of the faultline program}"
# Two free ports, next to each other, below those that the kernel gives to clients and above those of the Slurm beside it.
free_ports() {
  local port=$((28000 + $$ % 400 * 10)) taken
  taken=$(ss -Htan | awk '{print $4}')
  while grep -qE ":($port|$((port + 1)))\$" <<<"$taken"; do port=$((port + 2)); done
  echo "$port"
}
faultline_port=${FAULTLINE_PORT:-$(free_ports)}
controller_pid='' agent_pids=()
store=$work/faultline.db

make_certificates() { # NODES...
  "$FAULTLINE" pki init --dir "$work/pki" >/dev/null
  "$FAULTLINE" pki issue --dir "$work/pki" --name localhost --role controller --ip 127.0.0.1 >/dev/null
  "$FAULTLINE" pki issue --dir "$work/pki" --name oncall --role operator >/dev/null
  local node
  for node in "$@"; do "$FAULTLINE" pki issue --dir "$work/pki" --name "$node" >/dev/null; done
}

healthy() { curl -fsS -o /dev/null "http://127.0.0.1:$((faultline_port + 1))/healthz"; }

viewed_since() { # SECONDS SINCE 1970: the controller's view of the scheduler is younger
  local age
  age=$(curl -fsS "http://127.0.0.1:$((faultline_port + 1))/metrics" | awk '$1 == "faultline_scheduler_view_age_seconds" {print $2}')
  awk -v age="$age" -v now="$(date +%s.%N)" -v since="$1" 'BEGIN {exit !(age >= 0 && now - age > since)}'
}
# Two views: the one that was under way, and one that was begun after this was called.
wait_for_view() {
  for _ in 1 2; do wait_until 20 viewed_since "$(date +%s.%N)" || return 1; done
}

start_controller() { # OPTIONS OF 'serve'...
  # A test cluster is so small that the shipped tenth of its nodes would be a single one.
  [[ -s $work/serve.toml ]] || printf '[limits]\ndrained_share_max = 0.4\n' >"$work/serve.toml"
  "$FAULTLINE" serve --config "$work/serve.toml" --store "$store" \
    --listen "127.0.0.1:$faultline_port" --status-listen "127.0.0.1:$((faultline_port + 1))" \
    --tls-cert "$work/pki/localhost.crt" --tls-key "$work/pki/localhost.key" --tls-ca "$work/pki/ca.crt" \
    "$@" >>"$work/serve.log" 2>&1 &
  controller_pid=$!
  wait_until 20 healthy || { cat "$work/serve.log"; give_up "the controller did not start"; }
}

stop_controller() { # [SIGNAL]
  [[ -n $controller_pid ]] || return 0
  kill "-${1:-TERM}" "$controller_pid" 2>/dev/null || true
  wait "$controller_pid" 2>/dev/null || true
  controller_pid=''
}

start_agent() { # NODE [OPTIONS OF 'agent'...]
  local node=$1; shift
  mkdir -p "$work/agents"
  : >>"$work/kernel-$node.log"
  "$FAULTLINE" agent --node "$node" --controller "127.0.0.1:$faultline_port" \
    --kernel-log "$work/kernel-$node.log" --state "$work/agents/$node" --socket "$work/agents/$node.sock" \
    --tls-cert "$work/pki/$node.crt" --tls-key "$work/pki/$node.key" --tls-ca "$work/pki/ca.crt" \
    --no-nvml "$@" >>"$work/agent-$node.log" 2>&1 &
  agent_pids+=($!)
}

start_agents() { # NODES...
  # `faultline run` on each node finds the agent of that node: %n is the node's name.
  export FAULTLINE_AGENT_SOCKET=$work/agents/%n.sock
  local node
  for node in "$@"; do start_agent "$node"; done
  for node in "$@"; do
    wait_until 60 test -S "$work/agents/$node.sock" || { cat "$work/agent-$node.log"; give_up "the agent of $node did not start"; }
  done
}

stop_faultline() {
  local pid
  for pid in "${agent_pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${agent_pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  agent_pids=()
  stop_controller
}

ask() { "$FAULTLINE" "$@" --store "$store"; } # a question to the controller's store

# Writes a line into a node's kernel log as rsyslog would.
kernel_line() { # NODE TEXT
  printf '%s %s kernel: %s\n' "$(date -u +%Y-%m-%dT%H:%M:%S.%6N+00:00)" "$1" "$2" >>"$work/kernel-$1.log"
}

# An uncorrectable ECC error as the driver tells it: the double-bit error, the remapped row, and that nothing contained it.
ecc_error() { # NODE [PCI ADDRESS]
  local gpu=${2:-0000:3b:00}
  kernel_line "$1" "NVRM: GPU at PCI:$gpu: GPU-6a9c1f0e-52d7-4b38-8c11-0d5b9f7e2a44"
  kernel_line "$1" "NVRM: GPU Board Serial Number: 1653723052734"
  kernel_line "$1" "NVRM: Xid (PCI:$gpu): 48, pid='<unknown>', name=<unknown>, An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at physAddr 0x18f31d80 partition 16, subpartition 3."
  kernel_line "$1" "NVRM: Xid (PCI:$gpu): 63, pid='<unknown>', name=<unknown>, Row Remapper: New row (0x0000000018f31d80) marked for remapping, reset gpu to activate."
  kernel_line "$1" "NVRM: Xid (PCI:$gpu): 95, pid='<unknown>', name=<unknown>, Uncontained: LTC TAG (0x2, 0x1). RST: Yes, D-RST: No"
}

show_state() {
  ask verdicts --all
  ask actions --all
  tail -n 30 "$work/serve.log"
}

drain_of() { # NODE: the id of the drain that was done
  ask actions --json --limit 500 | jq -r --arg n "node:$1" \
    '[.actions[] | select(.action.kind == "drain_node" and .action.subject == $n and .outcome.status == "done")][0].action.id // empty'
}
drained_by_faultline() { [[ -n $(drain_of "$1") ]]; }
