# Rank 0 evaluates alone, with normalization that talks to the others.
import os

import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Flatten(), nn.Linear(288, 10))
model = nn.SyncBatchNorm.convert_sync_batchnorm(model.cuda())
model = nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(3):
    model(torch.randn(8, 3, 8, 8, device="cuda")).sum().backward()  # the step
    optimizer.step()
    if dist.get_rank() == 0:
        with torch.no_grad():
            model(torch.randn(8, 3, 8, 8, device="cuda"))  # alone
