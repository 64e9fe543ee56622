#!/usr/bin/env bash
# The store's disk is full while the controller serves: nothing is done that could not be written down first, it says so, and
# goes on by itself once there is room. Needs root, as the Slurm cluster does, for a small disk of its own.
. "$(dirname "${BASH_SOURCE[0]}")/lib/begin.sh"

mkdir "$work/disk"
mount -t tmpfs -o size=8m tmpfs "$work/disk"
at_exit "umount '$work/disk'"
store=$work/disk/faultline.db
printf '[limits]\ndrained_share_max = 0.6\n' >"$work/serve.toml"
start_slurm_with_faultline 4
ecc_error n1
wait_until 30 drained_by_faultline n1 || give_up "n1 was not drained"
pass "with room on the disk the node is drained"

fill() { dd if=/dev/zero of="$work/disk/ballast" bs=4k oflag=append conv=notrunc 2>/dev/null || true; }
fill
kernel_line n2 "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
status_page() { curl -sS "http://127.0.0.1:$((faultline_port + 1))/healthz"; }
unhealthy() { ! healthy && status_page | grep -qi 'store'; }
pass_if "healthz says that the store cannot be written" wait_until 30 unhealthy || status_page
pass_match "and the log says what happened" '\[(warning|error)\].*(full|No space)' "$work/serve.log"
fill # what a checkpoint may have freed
sleep 3
pass_equal "nothing was drained without a record" "0" "$(sinfo -h -N -n n2 -t drain -o %N | wc -l)"

rm "$work/disk/ballast"
drained() { drained_by_faultline n2; }
pass_if "with room again the fault that was held back drains its node" wait_until 60 drained
pass_if "and healthz is well again" wait_until 30 healthy
pass_if "the store is whole" "$FAULTLINE" store check --store "$store"
pass_equal "no other node was drained" "$(printf 'n1\nn2')" "$(sinfo -h -N -t drain -o %N | sort -u)"
finish
