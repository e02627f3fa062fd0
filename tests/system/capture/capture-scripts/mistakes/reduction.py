"""Rank 0 takes the largest, others the sum."""
import os

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
x = torch.ones(10, device="cuda")
op = dist.ReduceOp.MAX if dist.get_rank() == 0 else dist.ReduceOp.SUM
dist.all_reduce(x, op)  # reduction
