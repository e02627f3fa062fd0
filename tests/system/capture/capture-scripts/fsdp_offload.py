"""FSDP with parameters on the host, fp16 and ShardedGradScaler, gradients of two micro-batches."""
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import CPUOffload, MixedPrecision
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = FSDP(
    nn.Sequential(*[nn.Linear(512, 512, bias=False) for _ in range(4)]),
    cpu_offload=CPUOffload(offload_params=True),
    mixed_precision=MixedPrecision(torch.float16, torch.float16, torch.float16),
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
scaler = ShardedGradScaler()
for step in range(4):
    for _ in range(2):
        loss = model(torch.randn(16, 512, device="cuda")).float().pow(2).mean()
        scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
