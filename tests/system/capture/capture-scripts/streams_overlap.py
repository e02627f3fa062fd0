"""A prefetcher on a stream of its own, hooks that reduce gradients by hand with async_op, streams
that wait for each other, record_stream.
"""
import os

import torch
import torch.distributed as dist
import torch.nn as nn


class Prefetcher:
    def __init__(self, loader, device):
        self.loader = iter(loader)
        self.stream = torch.cuda.Stream()
        self.device = device
        self.preload()

    def preload(self):
        try:
            self.next_input, self.next_target = next(self.loader)
        except StopIteration:
            self.next_input = self.next_target = None
            return
        with torch.cuda.stream(self.stream):
            self.next_input = self.next_input.to(self.device, non_blocking=True)
            self.next_target = self.next_target.to(self.device, non_blocking=True)
            self.next_input = self.next_input.float().sub_(0.5).div_(0.25)

    def next(self):
        torch.cuda.current_stream().wait_stream(self.stream)
        input, target = self.next_input, self.next_target
        if input is not None:
            input.record_stream(torch.cuda.current_stream())
            target.record_stream(torch.cuda.current_stream())
            self.preload()
        return input, target


def main():
    dist.init_process_group("nccl", init_method="env://")
    rank = int(os.environ["RANK"])
    world = int(os.environ["WORLD_SIZE"])
    local_rank = rank % torch.cuda.device_count()
    torch.cuda.set_device(local_rank)
    device = torch.device("cuda", local_rank)
    net = nn.Sequential(
        nn.Flatten(), nn.Linear(3 * 32 * 32, 2048), nn.ReLU(), nn.Linear(2048, 10)
    ).to(device)
    for p in net.parameters():
        dist.broadcast(p.data, 0)
    optimizer = torch.optim.Adam(net.parameters(), fused=False, foreach=True)
    handles = []
    side = torch.cuda.Stream(priority=-1)

    def hook(grad):
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            grad.record_stream(side)
            handles.append(dist.all_reduce(grad, op=dist.ReduceOp.SUM, async_op=True))
        return grad

    for p in net.parameters():
        p.register_hook(hook)
    data = torch.utils.data.TensorDataset(
        torch.randint(0, 255, (160, 3, 32, 32), dtype=torch.uint8), torch.randint(0, 10, (160,))
    )
    sampler = torch.utils.data.distributed.DistributedSampler(data, world, rank)
    loader = torch.utils.data.DataLoader(data, 16, sampler=sampler, pin_memory=True)
    fetcher = Prefetcher(loader, device)
    input, target = fetcher.next()
    while input is not None:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(input), target)
        loss.backward()
        for handle in handles:
            handle.wait()
        handles.clear()
        torch.cuda.current_stream().wait_stream(side)
        for p in net.parameters():
            p.grad.div_(world)
        optimizer.step()
        event = torch.cuda.Event()
        event.record()
        event.synchronize()
        assert event.query()
        input, target = fetcher.next()
    torch.cuda.synchronize(device)
    print(torch.cuda.memory_allocated(device), torch.cuda.memory_reserved(device))


if __name__ == "__main__":
    main()
