"""DDP with ZeroRedundancyOptimizer, started by torch.multiprocessing."""
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel


def train(rank, world_size):
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = "12355"
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    torch.cuda.set_device(rank)
    layers = [torch.nn.Linear(512, 512) for _ in range(6)]
    model = DistributedDataParallel(torch.nn.Sequential(*layers).to(rank), device_ids=[rank])
    optimizer = ZeroRedundancyOptimizer(
        model.parameters(), optimizer_class=torch.optim.Adam, lr=0.01
    )
    for _ in range(5):
        optimizer.zero_grad()
        model(torch.randn(16, 512).to(rank)).sum().backward()
        optimizer.step()


if __name__ == "__main__":
    world_size = 3
    mp.spawn(train, args=(world_size,), nprocs=world_size)
