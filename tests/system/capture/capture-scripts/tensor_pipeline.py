"""Tensor and pipeline parallelism by hand: 2 stages of 2 GPUs each, without a framework."""
import torch
import torch.distributed as dist

dist.init_process_group("nccl")
rank, world = dist.get_rank(), dist.get_world_size()
torch.cuda.set_device(rank % torch.cuda.device_count())
TP = 2
stages = world // TP
stage, place = rank // TP, rank % TP
for s in range(stages):
    group = dist.new_group(list(range(s * TP, s * TP + TP)))
    if s == stage:
        tp_group = group
WIDTH, BATCH, MICRO = 384, 8, 4


class AllReduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        dist.all_reduce(x, group=tp_group)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


class Copy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        dist.all_reduce(grad, group=tp_group)
        return grad


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(WIDTH, 4 * WIDTH // TP)
        self.down = torch.nn.Linear(4 * WIDTH // TP, WIDTH)

    def forward(self, x):
        return AllReduce.apply(self.down(torch.relu(self.up(Copy.apply(x)))))


model = torch.nn.Sequential(Layer(), Layer()).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(4):
    outputs = []
    for m in range(MICRO):
        if stage == 0:
            x = torch.randn(BATCH, WIDTH, device="cuda")
        else:
            x = torch.empty(BATCH, WIDTH, device="cuda")
            dist.recv(x, src=rank - TP)
            x.requires_grad_()
        y = model(x)
        if stage < stages - 1:
            dist.send(y.detach(), dst=rank + TP)
        outputs.append((x, y))
    for x, y in outputs:
        if stage == stages - 1:
            y.sum().backward()
        else:
            grad = torch.empty_like(y)
            dist.recv(grad, src=rank + TP)
            y.backward(grad)
        if stage > 0:
            dist.send(x.grad, dst=rank - TP)
    optimizer.step()
    optimizer.zero_grad()
