#!/usr/bin/env bash
# What must not lead to a drain: a job that prints kernel lines, one that fails on all ranks, an agent without a good
# certificate or that speaks for another node, names with shell characters.
. "$(dirname "${BASH_SOURCE[0]}")/lib/begin.sh"

start_slurm_with_faultline 4
cat >"$work/liar.sh" <<'X'
#!/bin/bash
echo "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
echo "kernel: NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus." >&2
exit 1
X
cat >"$work/liar.sbatch" <<X
#!/bin/bash
srun "$FAULTLINE" run --log-dir "$work/rank-logs" -- bash "$work/liar.sh"
X
# shellcheck disable=SC2016 # the name of the job is the attack
liar=$(cd "$work" && submit -N 2 --job-name='$(touch '"$work"'/owned); `id`' --output="$work/liar.out" "$work/liar.sbatch")
wait_until 60 job_is "$liar" FAILED || give_up "the lying job did not end: $(job_state "$liar")"

cat >"$work/bug.sbatch" <<X
#!/bin/bash
srun "$FAULTLINE" run --log-dir "$work/rank-logs" -- bash -c 'echo "RuntimeError: CUDA error: device-side assert triggered" >&2; exit 1'
X
bug=$(cd "$work" && submit -N 4 --output="$work/bug.out" "$work/bug.sbatch")
wait_until 60 job_is "$bug" FAILED || give_up "the buggy job did not end: $(job_state "$bug")"
said_workload() { ask verdicts --json | jq -e --arg a "$bug#0" 'any(.verdicts[]; .attempt == $a and .status != "cleared")' >/dev/null; }
wait_until 30 said_workload || { ask verdicts --all; fail "nothing was concluded about the buggy job"; }
pass_equal "no node was drained" "0" "$(sinfo -h -N -t drain -o %N | wc -l)"
pass_if "the job's name was data" test ! -e "$work/owned"
pass_match "the ruling was printed to the job's own output" '^faultline: ' "$work/bug.out"

# n2's certificate, but it says that it is n3.
mkdir -p "$work/impostor"; : >"$work/impostor/kernel.log"
timeout 15 "$FAULTLINE" agent --node n3 --controller "127.0.0.1:$faultline_port" --kernel-log "$work/impostor/kernel.log" \
  --state "$work/impostor/state" --socket "$work/impostor/sock" --no-nvml \
  --tls-cert "$work/pki/n2.crt" --tls-key "$work/pki/n2.key" --tls-ca "$work/pki/ca.crt" >"$work/impostor.log" 2>&1 &
impostor=$!
sleep 2
printf '%s n3 kernel: %s\n' "$(date -u +%Y-%m-%dT%H:%M:%S.%6N+00:00)" \
  'NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.' >>"$work/impostor/kernel.log"
wait "$impostor" || true
pass_equal "an agent that speaks for another node drains nothing" "0" "$(sinfo -h -N -t drain -o %N | wc -l)"
pass_match "and is told why" "the certificate is of 'n2' and cannot speak for 'n3'" "$work/impostor.log"

# A date in the future and a line of binary do not hurt; the real fault after them counts.
{
  printf '2199-01-01T00:00:00.000000+00:00 n1 kernel: NVRM: loading\n\x00\x01\xff\xfe\n'
  head -c 3000000 /dev/zero | tr '\0' 'x'
  printf '\n'
} >>"$work/kernel-n1.log"
kernel_line n1 "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
pass_if "a real fault after junk drains its node" wait_until 30 drained_by_faultline n1
finish
