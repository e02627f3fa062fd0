"""Ranks make models of different shapes."""
import os

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
rank, world = dist.get_rank(), dist.get_world_size()
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = torch.nn.Linear(8, 8 + rank).cuda()
torch.nn.parallel.DistributedDataParallel(model)  # differ
