"""Rank 0 validates alone: its forward pass gathers what the others' next step gathers, too, so that
calls are alike until its own step begins.
"""

import os

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
if dist.get_rank() == 0:  # lines of its own, which are no mistake
    dist.broadcast(torch.ones(4, device="cuda"), 0)
else:
    dist.broadcast(torch.empty(4, device="cuda"), 0)
layers = [FSDP(torch.nn.Linear(48, 48).cuda()) for _ in range(3)]
model = FSDP(torch.nn.Sequential(*layers))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(5, 48, device="cuda")
for _ in range(3):
    loss = model(x).sum()  # the step
    loss.backward()  # the gradients
    optimizer.step()
    if dist.get_rank() == 0:
        with torch.no_grad():
            model(x)  # alone
