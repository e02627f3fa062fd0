"""A send that nobody receives."""
import os

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
rank, world = dist.get_rank(), dist.get_world_size()
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
x = torch.ones(64, device="cuda")
dist.all_reduce(x)
if rank == 0:
    dist.send(x, dst=1)  # into the void
