"""Neighbours that both receive before they send."""
import os

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
rank, world = dist.get_rank(), dist.get_world_size()
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
mine, theirs = torch.ones(1 << 20, device="cuda"), torch.empty(1 << 20, device="cuda")
dist.recv(theirs, (rank - 1) % world)  # nobody has sent
dist.send(mine, (rank + 1) % world)
