"""Two collectives, the other way round on one rank."""
import os

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
rank, world = dist.get_rank(), dist.get_world_size()
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
x, y = torch.ones(64, device="cuda"), torch.ones(32, device="cuda")
if rank == 1:
    dist.all_reduce(y)  # y first
    dist.all_reduce(x)
else:
    dist.all_reduce(x)  # x first
    dist.all_reduce(y)
