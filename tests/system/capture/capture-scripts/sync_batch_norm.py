"""DDP with SyncBatchNorm, gradient accumulation by no_sync, a learning-rate schedule."""
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("nccl")
rank = dist.get_rank()
torch.cuda.set_device(rank)
net = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
    nn.Flatten(), nn.Linear(16, 10),
)
net = nn.SyncBatchNorm.convert_sync_batchnorm(net).cuda()
model = DistributedDataParallel(net, device_ids=[rank])
optimizer = torch.optim.AdamW(model.parameters())
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
for step in range(3):
    for micro in range(2):
        x = torch.randn(4, 3, 32, 32).cuda()
        y = torch.randint(0, 10, (4,)).cuda()
        if micro == 0:
            with model.no_sync():
                nn.functional.cross_entropy(model(x), y).backward()
        else:
            nn.functional.cross_entropy(model(x), y).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    optimizer.zero_grad()
    torch.cuda.synchronize()
