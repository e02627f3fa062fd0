"""One rank reduces in half precision."""
import os

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
rank, world = dist.get_rank(), dist.get_world_size()
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
x = torch.ones(64, device="cuda", dtype=torch.float16 if rank == 1 else torch.float32)
y = torch.ones(128 if rank == 1 else 64, device="cuda", dtype=x.dtype)
dist.all_reduce(y)  # types
