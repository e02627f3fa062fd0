"""SimCLR: two views of each picture through one network with SyncBN, embeddings of all ranks by an
all-gather with a gradient, a loss over all pairs.
"""
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
import torchvision
from torch.nn.parallel import DistributedDataParallel as DDP


class Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        parts = [torch.zeros_like(x) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, x)
        return tuple(parts)

    @staticmethod
    def backward(ctx, *gradients):
        everything = torch.stack(gradients)
        dist.all_reduce(everything)
        return everything[dist.get_rank()]


class SimCLR(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = torchvision.models.resnet18(weights=None)
        width = self.backbone.fc.in_features
        self.backbone.fc = nn.Identity()
        self.head = nn.Sequential(nn.Linear(width, 256), nn.ReLU(), nn.Linear(256, 64))

    def forward(self, x):
        return F.normalize(self.head(self.backbone(x)), dim=1)


def nt_xent(first, second, temperature=0.5):
    z = torch.cat([*Gather.apply(first), *Gather.apply(second)])
    n = len(z) // 2
    similar = z @ z.T / temperature
    similar.fill_diagonal_(float("-inf"))
    target = torch.cat([torch.arange(n, 2 * n), torch.arange(n)]).to(z.device)
    return F.cross_entropy(similar, target)


def main():
    dist.init_process_group("nccl")
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    net = nn.SyncBatchNorm.convert_sync_batchnorm(SimCLR()).cuda()
    net = DDP(net, device_ids=[local])
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)
    for _ in range(4):
        views = torch.randn(2, 8, 3, 64, 64, device="cuda")
        first, second = net(views.flatten(0, 1)).chunk(2)
        loss = nt_xent(first, second)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()


if __name__ == "__main__":
    main()
