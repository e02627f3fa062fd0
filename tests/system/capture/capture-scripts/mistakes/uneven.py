"""A rank has a batch more than the others, and no join."""
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("nccl")
rank = dist.get_rank()
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = DDP(torch.nn.Linear(16, 4).cuda())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in range(3 if rank == 0 else 2):
    optimizer.zero_grad()
    model(torch.randn(8, 16, device="cuda")).sum().backward()  # once more
    optimizer.step()
