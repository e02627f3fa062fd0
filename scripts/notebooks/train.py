"""ResNet-18 by DistributedDataParallel, as one would start it with torchrun on real GPUs."""

import argparse
import os

import torch
import torch.distributed as dist
import torchvision
from torch.nn.parallel import DistributedDataParallel as DDP

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=64)
parser.add_argument("--bucket-mb", type=int, default=25)
parser.add_argument("--rank-0-only", action="store_true", help="a mistake: one rank logs alone")
arguments = parser.parse_args()

dist.init_process_group("nccl")
local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)
model = DDP(
    torchvision.models.resnet18().cuda(),
    device_ids=[local_rank],
    bucket_cap_mb=arguments.bucket_mb,
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
criterion = torch.nn.CrossEntropyLoss()
for step in range(1000):
    images = torch.randn(arguments.batch_size, 3, 224, 224, device="cuda")
    labels = torch.randint(0, 1000, (arguments.batch_size,), device="cuda")
    optimizer.zero_grad()
    loss = criterion(model(images), labels)
    loss.backward()
    optimizer.step()
    if arguments.rank_0_only and dist.get_rank() == 0:
        dist.all_reduce(loss.detach())
dist.destroy_process_group()
