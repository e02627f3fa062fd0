"""The last batch of one rank is smaller."""
import os

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
rank, world = dist.get_rank(), dist.get_world_size()
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
x = torch.ones(64 if rank != world - 1 else 48, device="cuda")
dist.all_reduce(x)  # sizes
