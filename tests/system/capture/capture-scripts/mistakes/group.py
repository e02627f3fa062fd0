"""Only the members make the group."""
import os

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
rank, world = dist.get_rank(), dist.get_world_size()
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
if rank < 2:
    group = dist.new_group([0, 1])  # not on all
    dist.all_reduce(torch.ones(64, device="cuda"), group=group)
