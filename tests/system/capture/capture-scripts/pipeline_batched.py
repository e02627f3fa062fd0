"""A pipeline of stages by hand: 1F1B, with batch_isend_irecv between neighbours and groups of
data-parallel replicas of each stage.
"""
import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument("--stages", type=int, default=2)
parser.add_argument("--micro-batches", type=int, default=4)
parser.add_argument("--local_rank", "--local-rank", type=int, default=None)
args = parser.parse_args()

SHAPE = (4, 32, 64)


def exchange(send=None, to=None, receive_from=None, group=None):
    ops, received = [], None
    if send is not None:
        ops.append(dist.P2POp(dist.isend, send, to))
    if receive_from is not None:
        received = torch.empty(SHAPE, device="cuda", requires_grad=True)
        ops.append(dist.P2POp(dist.irecv, received, receive_from))
    if ops:
        for request in dist.batch_isend_irecv(ops):
            request.wait()
    return received


def main():
    dist.init_process_group("nccl")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
    stages = args.stages
    replicas = world // stages
    stage, replica = divmod(rank, replicas)
    mine = None
    for s in range(stages):
        group = dist.new_group(list(range(s * replicas, (s + 1) * replicas)))
        if s == stage:
            mine = group
    before = rank - replicas if stage > 0 else None
    behind = rank + replicas if stage < stages - 1 else None
    layers = [nn.Linear(64, 64), nn.GELU(), nn.LayerNorm(64)] * 2
    net = nn.Sequential(*layers).cuda()
    if behind is None:
        net.add_module("head", nn.Linear(64, 10).cuda())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    micro = args.micro_batches
    warm = min(stages - stage - 1, micro)

    def forward(x):
        y = net(x)
        if behind is None:
            return y.float().pow(2).mean() / micro
        return y

    def backward(x, y, gradient):
        if behind is None:
            y.backward()
        else:
            torch.autograd.backward(y, gradient)
        return x.grad if before is not None else None

    for step in range(3):
        optimizer.zero_grad()
        saved = []

        def first():
            return torch.randn(SHAPE, device="cuda")

        for _ in range(warm):
            x = exchange(receive_from=before) if before is not None else first()
            y = forward(x)
            saved.append((x, y))
            exchange(send=y.detach(), to=behind)
        if micro > warm:
            x = exchange(receive_from=before) if before is not None else first()
        for i in range(micro - warm):
            last = i == micro - warm - 1
            y = forward(x)
            saved.append((x, y))
            gradient = None
            if behind is not None:
                gradient = exchange(y.detach(), behind, behind)
            bx, by = saved.pop(0)
            back = backward(bx, by, gradient)
            if last:
                if before is not None:
                    exchange(send=back, to=before)
            elif before is not None:
                x = exchange(back, before, before)
            else:
                x = first()
        for _ in range(warm):
            bx, by = saved.pop(0)
            gradient = exchange(receive_from=behind)
            back = backward(bx, by, gradient)
            if before is not None:
                exchange(send=back, to=before)
        for p in net.parameters():
            dist.all_reduce(p.grad, group=mine)
        optimizer.step()
    if rank == 0:
        print("done")


if __name__ == "__main__":
    main()
