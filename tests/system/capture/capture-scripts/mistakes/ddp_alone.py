# Behind the step rank 0 sums something alone, while the others are already in DDP's next one, which
# broadcasts how it makes its buckets anew.
import os

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(3))).cuda()
model = torch.nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(3):
    model(torch.randn(8, 64, device="cuda")).sum().backward()  # the step
    optimizer.step()
    optimizer.zero_grad()
    if dist.get_rank() == 0:
        count = torch.ones(1, device="cuda")
        dist.all_reduce(count)  # alone
