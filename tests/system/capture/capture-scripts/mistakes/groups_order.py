# Two groups of all ranks, as for tensors and for data: every second rank begins with the other one.
import os

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
groups = [dist.new_group(list(range(dist.get_world_size()))) for _ in range(2)]
x = torch.ones(1000, device="cuda")
if dist.get_rank() % 2:
    groups.reverse()
for group in groups:
    dist.all_reduce(x, group=group)  # in turns
