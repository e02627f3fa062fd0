"""DLRM: embedding tables of their own on each rank, which go to all others by an uneven all-to-all,
and dense layers that are replicated. There may be fewer tables than ranks.
"""
import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

TABLES, WIDTH, SAMPLES = 5, 16, 12  # samples of each rank


class AllToAll(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, sends, receives):
        ctx.sends, ctx.receives = sends, receives
        y = x.new_empty(sum(receives))
        dist.all_to_all_single(y, x.contiguous(), receives, sends)
        return y

    @staticmethod
    def backward(ctx, gradient):
        x = gradient.new_empty(sum(ctx.sends))
        dist.all_to_all_single(x, gradient.contiguous(), ctx.sends, ctx.receives)
        return x, None, None


def layers(*widths):
    made = []
    for before, behind in zip(widths, widths[1:]):
        made += [nn.Linear(before, behind), nn.ReLU()]
    return nn.Sequential(*made[:-1])


def main():
    dist.init_process_group("nccl")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    owners = [len(range(r, TABLES, world)) for r in range(world)]
    mine = owners[rank]
    tables = nn.ModuleList(
        nn.EmbeddingBag(1000 + 10 * t, WIDTH, mode="sum") for t in range(rank, TABLES, world)
    ).cuda()
    features = TABLES + 1
    low, high = torch.tril_indices(features, features, -1)
    bottom = DDP(layers(13, 64, WIDTH).cuda())
    top = DDP(layers(WIDTH + len(low), 64, 1).cuda())
    dense = [*bottom.parameters(), *top.parameters()]
    optimizers = [torch.optim.SGD(dense, lr=0.1)]
    if mine:
        optimizers.append(torch.optim.Adagrad(tables.parameters(), lr=0.01))
    criterion = nn.BCEWithLogitsLoss()
    for _ in range(4):
        numbers = torch.randn(SAMPLES, 13, device="cuda")
        clicked = torch.randint(0, 2, (SAMPLES, 1), device="cuda").float()
        found = [
            table(torch.randint(0, 1000, (SAMPLES * world, 5), device="cuda")) for table in tables
        ]
        if found:
            mine_for_all = torch.stack(found, 1)
        else:
            mine_for_all = torch.zeros(0, device="cuda", requires_grad=True)
        each = [SAMPLES * owned * WIDTH for owned in owners]
        arrived = AllToAll.apply(mine_for_all.flatten(), [each[rank]] * world, each)
        parts = [
            part.view(SAMPLES, owned, WIDTH)
            for part, owned in zip(arrived.split(each), owners)
        ]
        x = torch.cat([bottom(numbers).unsqueeze(1), *parts], 1)
        pairs = torch.bmm(x, x.transpose(1, 2))[:, low, high]
        loss = criterion(top(torch.cat([x[:, 0], pairs], 1)), clicked)
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()


if __name__ == "__main__":
    main()
