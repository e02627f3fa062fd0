"""Experts on all ranks: a router, top-2 gating, counts exchanged first, then uneven all-to-all, an
auxiliary loss, a group of the experts and one of the data, through an autograd Function.
"""
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F


class AllToAll(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, sends, receives, group):
        ctx.sends, ctx.receives, ctx.group = sends, receives, group
        y = x.new_empty((sum(receives), x.size(1)))
        dist.all_to_all_single(y, x.contiguous(), receives, sends, group=group)
        return y

    @staticmethod
    def backward(ctx, gradient):
        x = gradient.new_empty((sum(ctx.sends), gradient.size(1)))
        dist.all_to_all_single(
            x, gradient.contiguous(), ctx.sends, ctx.receives, group=ctx.group
        )
        return x, None, None, None


class Experts(nn.Module):
    def __init__(self, width, hidden, local, group):
        super().__init__()
        self.group = group
        self.world = dist.get_world_size(group)
        self.local = local
        self.gate = nn.Linear(width, local * self.world, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(width, hidden), nn.SiLU(), nn.Linear(hidden, width))
            for _ in range(local)
        )
        for p in self.experts.parameters():
            p.expert = True

    def forward(self, x):
        shape = x.shape
        x = x.reshape(-1, shape[-1])
        probabilities = F.softmax(self.gate(x).float(), dim=-1)
        weights, chosen = probabilities.topk(2, dim=-1)
        weights = (weights / weights.sum(-1, keepdim=True)).to(x.dtype)
        flat = chosen.flatten()
        order = flat.argsort()
        counts = torch.bincount(flat, minlength=self.local * self.world)
        to_each = counts.view(self.world, self.local).sum(1)
        from_each = torch.empty_like(to_each)
        dist.all_to_all_single(from_each, to_each, group=self.group)
        sends, receives = to_each.tolist(), from_each.tolist()
        tokens = x.repeat_interleave(2, dim=0)[order]
        arrived = AllToAll.apply(tokens, sends, receives, self.group)
        parts = arrived.chunk(self.local)
        done = torch.cat([expert(part) for expert, part in zip(self.experts, parts)])
        back = AllToAll.apply(done, receives, sends, self.group)
        y = torch.zeros_like(tokens).index_copy(0, order, back)
        y = (y.view(-1, 2, shape[-1]) * weights.unsqueeze(-1)).sum(1)
        load = F.one_hot(chosen[:, 0], self.local * self.world).float().mean(0)
        return y.view(shape), (load * probabilities.mean(0)).sum()


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    everyone = dist.new_group()
    embed = nn.Embedding(500, 64).cuda()
    moe = Experts(64, 128, 2, everyone).cuda()
    head = nn.Linear(64, 500).cuda()
    parameters = [p for m in (embed, moe, head) for p in m.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=1e-3)
    for step in range(3):
        tokens = torch.randint(0, 500, (8, 32), device="cuda")
        y, auxiliary = moe(embed(tokens))
        loss = F.cross_entropy(head(y).flatten(0, 1), tokens.flatten()) + 0.01 * auxiliary
        optimizer.zero_grad()
        loss.backward()
        for p in parameters:
            if not getattr(p, "expert", False):
                dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)
        optimizer.step()
        if dist.get_rank() == 0:
            print("step", step, float(loss))


if __name__ == "__main__":
    main()
