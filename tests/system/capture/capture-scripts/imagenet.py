"""In the style of the ImageNet example: processes by spawn, a DataLoader with workers and pinned
memory, accuracy, a schedule, a checkpoint that is saved by one rank and loaded by all.
"""
import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torchvision
from torch import nn


def accuracy(output, target, topk=(1, 5)):
    with torch.no_grad():
        _, pred = output.topk(max(topk), 1, True, True)
        correct = pred.t().eq(target.view(1, -1).expand_as(pred.t()))
        return [correct[:k].reshape(-1).float().sum(0, keepdim=True) for k in topk]


def worker(gpu, ngpus, folder):
    dist.init_process_group(
        "nccl", init_method="tcp://127.0.0.1:23456", world_size=ngpus, rank=gpu
    )
    torch.cuda.set_device(gpu)
    model = nn.parallel.DistributedDataParallel(
        torchvision.models.resnet18().cuda(gpu), device_ids=[gpu]
    )
    criterion = nn.CrossEntropyLoss().cuda(gpu)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=30)
    data = torchvision.datasets.FakeData(
        16, (3, 32, 32), 1000, torchvision.transforms.ToTensor()
    )
    sampler = torch.utils.data.distributed.DistributedSampler(data)
    loader = torch.utils.data.DataLoader(
        data, batch_size=4, num_workers=1, pin_memory=True, sampler=sampler
    )
    checkpoint = os.path.join(folder, "checkpoint.pt")
    for epoch in range(2):
        sampler.set_epoch(epoch)
        model.train()
        for images, target in loader:
            images = images.cuda(gpu, non_blocking=True)
            target = target.cuda(gpu, non_blocking=True)
            output = model(images)
            loss = criterion(output, target)
            acc1, acc5 = accuracy(output, target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        total = torch.tensor([1.0, gpu], device=f"cuda:{gpu}")
        dist.all_reduce(total, dist.ReduceOp.SUM, async_op=False)
        schedule.step()
        if gpu == 0:
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save(state, checkpoint)
        dist.barrier()
        state = torch.load(checkpoint, map_location=f"cuda:{gpu}")
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        print(f"rank {gpu} epoch {epoch} done")


if __name__ == "__main__":
    mp.spawn(worker, nprocs=2, args=(2, sys.argv[1]))
