# The last stage dies; the one before it waits for it, and never takes what the first one sent.
import os

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
rank = dist.get_rank()
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
x = torch.randn(1 << 20, device="cuda")
number = torch.ones(1, dtype=torch.int64, device="cuda")
if rank == 0:
    dist.send(x, 1)
    dist.send(number, 2)
elif rank == 1:
    dist.recv(number, 2)
    dist.recv(x, 0)
else:
    dist.recv(number, 0)
    raise ValueError("no labels")  # dies
