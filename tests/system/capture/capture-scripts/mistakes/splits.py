"""Rank 0 sends rank 1 fewer rows than that expects."""
import os

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
rank, ranks = dist.get_rank(), dist.get_world_size()
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
sends, receives = [100] * ranks, [100] * ranks
if rank == 0:
    sends[1] = 50
x = torch.randn(sum(sends), 16, device="cuda")
y = torch.empty(sum(receives), 16, device="cuda")
dist.all_to_all_single(y, x, receives, sends)  # rows
