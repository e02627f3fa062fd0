"""NCCL gets a tensor of the host."""
import os

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.all_reduce(torch.ones(4))  # not on the GPU
