#!/usr/bin/env bash
# The real kernel log: a Xid line written to /dev/kmsg of this machine leads to a drain in the real Slurm.
. "$(dirname "${BASH_SOURCE[0]}")/lib/begin.sh"

[[ -w /dev/kmsg ]] || give_up "/dev/kmsg cannot be written here: this test needs root on a machine of its own"
export FAULTLINE_SLURM_DIR=$work/slurm
start_cluster -n 3
make_certificates n1 n2 n3
at_exit stop_faultline
start_controller --scheduler slurm --slurm-conf "$SLURM_CONF" --mode act --poll-ms 500
# A line from before the agent's start: it must never be reported.
echo "<3>NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus." >/dev/kmsg
mkdir -p "$work/agents"
"$FAULTLINE" agent --node n2 --controller "127.0.0.1:$faultline_port" --kernel-log kmsg --state "$work/agents/n2" \
  --socket "$work/agents/n2.sock" --tls-cert "$work/pki/n2.crt" --tls-key "$work/pki/n2.key" --tls-ca "$work/pki/ca.crt" \
  --no-nvml >"$work/agent-n2.log" 2>&1 &
agent_pids+=($!)
wait_until 20 test -S "$work/agents/n2.sock" || { cat "$work/agent-n2.log"; give_up "the agent did not start"; }
sleep 2
pass_equal "a line from before its start is not reported" "0" "$(ask verdicts --json | jq '.verdicts | length')"
echo "<3>NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus." >/dev/kmsg
pass_if "a line of /dev/kmsg drains its node" wait_until 30 drained_by_faultline n2
why=$(ask why n2)
pass_if "why names the kernel's own log" grep -q '/dev/kmsg @' <<<"$why"
pass_if "and the GPU of the new line alone" eval "grep -q '0000:3b:00' <<<\"\$why\" && ! grep -q '0000:1b:00' <<<\"\$why\""
finish
