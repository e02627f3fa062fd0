"""ResNet-50 of torchvision, trained on random pictures; by DistributedDataParallel where there are
several GPUs, with automatic mixed precision and channels last if asked for.
"""
import argparse
import os

import torch
import torch.distributed as dist
import torchvision
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--amp", action="store_true")
    args = parser.parse_args()
    dist.init_process_group("nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    layout = torch.channels_last if args.amp else torch.contiguous_format
    model = torchvision.models.resnet50().cuda().to(memory_format=layout)
    if dist.get_world_size() > 1:
        model = DDP(model, device_ids=[local_rank], gradient_as_bucket_view=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=True)
    scaler = torch.cuda.amp.GradScaler(enabled=args.amp)
    for _ in range(4):
        images = torch.randn(args.batch, 3, 224, 224, device="cuda").to(memory_format=layout)
        labels = torch.randint(0, 1000, (args.batch,), device="cuda")
        with torch.autocast("cuda", torch.float16, enabled=args.amp):
            loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


if __name__ == "__main__":
    main()
