"""Faults on demand, for tests; the same file as train_lm's: each line names a host and what breaks there.

    n3 ecc              * exception step=25              n3 slow ms=200
"""

import os
import signal
import time

import torch

CUDA_ADVICE = (
    "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below "
    "might be incorrect.\n"
    "For debugging consider passing CUDA_LAUNCH_BLOCKING=1.\n"
    "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
)
CUDA_ERRORS = {
    "ecc": "uncorrectable ECC error encountered",
    "oom": "out of memory",
    "assert": "device-side assert triggered",
}
KINDS = set(CUDA_ERRORS) | {"exception", "hang", "sigkill", "nan", "slow"}


def _parse(line):
    host, kind, *options = line.split()
    if kind not in KINDS:
        raise ValueError(f"fault file: cannot understand {line!r}")
    values = dict(option.split("=") for option in options)
    return host, kind, int(values.get("step", 0)), int(values.get("ms", 0))


def _find(path, host, step):
    if not path or not os.path.exists(path):
        return None
    with open(path) as file:
        for line in file:
            if not line.strip() or line.startswith("#"):
                continue
            where, kind, from_step, ms = _parse(line)
            if where in (host, "*") and step >= from_step:
                return kind, ms
    return None


def inject(path, host, step, loss):
    """Returns the loss, poisoned or not; or fails as a program on a broken GPU would."""
    kind, ms = _find(path, host, step) or (None, 0)
    if kind in CUDA_ERRORS:
        raise RuntimeError(f"CUDA error: {CUDA_ERRORS[kind]}\n{CUDA_ADVICE}")
    if kind == "exception":
        return {}["input_ids"]
    if kind == "sigkill":
        os.kill(os.getpid(), signal.SIGKILL)
    while kind == "hang":
        time.sleep(3600)
    if kind == "slow":
        time.sleep(ms / 1000)
    if kind == "nan":
        return loss * torch.tensor(float("nan"))
    return loss
