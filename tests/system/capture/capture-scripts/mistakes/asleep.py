"""Rank 0 never comes to the collective."""
import os
import time

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
x = torch.ones(10, device="cuda")
while dist.get_rank() == 0:
    time.sleep(1)
dist.all_reduce(x)  # others
