"""Rank 0 adds up where the others gather."""
import os

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
rank, world = dist.get_rank(), dist.get_world_size()
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
x = torch.ones(64, device="cuda")
dist.all_reduce(x)
if rank == 0:
    dist.all_reduce(x)  # rank 0
else:
    dist.all_gather([torch.empty_like(x) for _ in range(world)], x)  # others
