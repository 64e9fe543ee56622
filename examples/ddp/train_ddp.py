#!/usr/bin/python3
"""A small PyTorch DistributedDataParallel run on CPUs (gloo), started by srun without torchrun.

It learns to continue arithmetic sequences modulo the vocabulary, made from (seed, step, sample) alone, so
that a resumed run sees what the unbroken one would have seen, and prints the same digits."""

import argparse
import hashlib
import os
import socket
import time

# Before torch starts its thread pools: ranks share few cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import checkpoint
import faults

VOCABULARY = 64
CONTEXT = 32


class Transformer(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.token = nn.Embedding(VOCABULARY, width)
        self.position = nn.Parameter(torch.randn(CONTEXT, width) * 0.02)
        self.block = nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.0, batch_first=True)
        self.head = nn.Linear(width, VOCABULARY)
        self.register_buffer("mask", torch.full((CONTEXT, CONTEXT), float("-inf")).triu(1), persistent=False)

    def forward(self, tokens):
        return self.head(self.block(self.token(tokens) + self.position, src_mask=self.mask))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--global-batch", type=int, default=32, help="of all ranks together")
    parser.add_argument("--step-ms-min", type=int, default=0)
    parser.add_argument("--checkpoint-dir", default="checkpoints")
    parser.add_argument("--checkpoint-every", type=int, default=20)
    parser.add_argument("--fault-file", default="")
    return parser.parse_args()


def node_name():
    return os.environ.get("SLURMD_NODENAME") or os.environ.get("FAULTLINE_NODE") or socket.gethostname()


def batch(seed, step, rank, world_size, size):
    random = torch.Generator().manual_seed(seed * 1_000_003 + step)
    start, stride = torch.randint(VOCABULARY, (2, size, 1), generator=random)
    sequence = (start + stride * torch.arange(CONTEXT + 1)) % VOCABULARY
    mine = sequence[rank::world_size]
    return mine[:, :-1], mine[:, 1:]


def digest(model):
    sha = hashlib.sha256()
    for parameter in model.parameters():
        sha.update(parameter.detach().numpy().tobytes())
    return sha.hexdigest()[:16]


def report_rejection(name, reason):
    print(f"checkpoint {name} rejected: {reason}", flush=True)


def resume(root, model, optimizer, rank):
    """One reader and a broadcast: all ranks surely start from the same state."""
    box = [checkpoint.load_newest_valid(root, report_rejection) if rank == 0 else None]
    dist.broadcast_object_list(box, src=0)
    if box[0] is None:
        return 0
    model.load_state_dict(box[0]["model"])
    optimizer.load_state_dict(box[0]["optimizer"])
    return box[0]["step"]


def train_step(options, model, optimizer, host, step):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    inputs, targets = batch(options.seed, step, rank, world_size, options.global_batch)
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
    loss = faults.inject(options.fault_file, host, step, loss)
    loss.backward()  # DDP's all-reduce runs in here
    gradient_norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    mean = loss.detach().clone()
    dist.all_reduce(mean)
    return mean.item() / world_size, gradient_norm.item()


def warm_up(model, options):
    """DDP sorts its buckets anew after the first backward pass, and another order of buckets sums in another
    order. A pass that teaches nothing puts this behind us: a resumed run then repeats the unbroken one's bits."""
    inputs, _ = batch(options.seed, 0, 0, 1, 1)
    model(inputs).sum().backward()


def train(options):
    rank, world_size, host = dist.get_rank(), dist.get_world_size(), node_name()
    torch.manual_seed(options.seed)
    bare = Transformer()
    optimizer = torch.optim.Adam(bare.parameters(), lr=3e-3)
    done = resume(options.checkpoint_dir, bare, optimizer, rank)
    model = DistributedDataParallel(bare)
    warm_up(model, options)
    if rank == 0:
        parameters = sum(p.numel() for p in bare.parameters())
        print(f"train_ddp world_size {world_size} parameters {parameters}", flush=True)
        print(f"resumed from step {done}", flush=True)
    for step in range(done + 1, options.steps + 1):
        begin = time.monotonic()
        loss, gradient_norm = train_step(options, model, optimizer, host, step)
        time.sleep(max(0.0, begin + options.step_ms_min / 1000 - time.monotonic()))
        if rank == 0:
            time_ms = (time.monotonic() - begin) * 1000
            print(f"step {step} loss {loss:.6f} grad_norm {gradient_norm:.6f} time_ms {time_ms:.1f} "
                  f"digest {digest(bare)}", flush=True)
        if loss != loss:
            raise FloatingPointError(f"loss is nan at step {step}, stopping training")
        if step % options.checkpoint_every == 0 or step == options.steps:
            if rank == 0:
                state = {"step": step, "model": bare.state_dict(), "optimizer": optimizer.state_dict()}
                checkpoint.save(options.checkpoint_dir, step, world_size, digest(bare), state)
                print(f"checkpoint saved step {step}", flush=True)
            dist.barrier()
    if rank == 0:
        print(f"done step {options.steps}", flush=True)


def main():
    options = parse_arguments()
    rank = int(os.environ.get("RANK", os.environ.get("SLURM_PROCID", 0)))
    world_size = int(os.environ.get("WORLD_SIZE", os.environ.get("SLURM_NTASKS", 1)))
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29500")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    train(options)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
