"""Processes by spawn that meet in a file; gloo beside nccl; a hook that compresses gradients; two
networks that are trained in turns; uneven inputs by join.
"""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel as DDP


def setup(rank, world_size, path):
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = "12355"
    dist.init_process_group(
        "nccl", init_method=f"file://{path}", rank=rank, world_size=world_size
    )


def run(rank, world_size, path, args):
    setup(rank, world_size, path)
    torch.cuda.set_device(rank)
    torch.manual_seed(args.seed)
    control = dist.new_group(backend="gloo")
    generator = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 32)).to(rank)
    critic = nn.Sequential(nn.Linear(32, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1)).to(rank)
    generator, critic = DDP(generator, device_ids=[rank]), DDP(critic, device_ids=[rank])
    generator.register_comm_hook(None, default_hooks.fp16_compress_hook)
    first = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    second = torch.optim.Adam(critic.parameters(), lr=2e-4, betas=(0.5, 0.999))
    criterion = nn.BCEWithLogitsLoss()
    for step in range(3):
        real = torch.randn(8, 32, device=rank)
        noise = torch.randn(8, 16, device=rank)
        fake = generator(noise)
        second.zero_grad()
        loss = criterion(critic(real), torch.ones(8, 1, device=rank)) + criterion(
            critic(fake.detach()), torch.zeros(8, 1, device=rank)
        )
        loss.backward()
        second.step()
        first.zero_grad()
        criterion(critic(fake), torch.ones(8, 1, device=rank)).backward()
        first.step()
        count = torch.tensor([step + rank])
        dist.all_reduce(count, group=control)
        assert count.item() == 2 * step + 1 if world_size == 2 else True
        dist.barrier(group=control)
    if rank == 0:
        print(f"trained with seed {args.seed}")
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=7)
    path = os.path.join(tempfile.mkdtemp(), "meet")
    mp.spawn(run, args=(2, path, parser.parse_args()), nprocs=2, join=True)
