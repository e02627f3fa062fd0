# NCCL sees memory, and every second number of it is not a tensor of its own.
import os

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
every_second = torch.randn(1000, 2, device="cuda")[:, 0]
dist.all_reduce(every_second)  # strided
