"""A mixture of experts: tokens go to their experts and back by all-to-all; gradients by hand."""
import torch
import torch.distributed as dist

dist.init_process_group("nccl")
rank, world = dist.get_rank(), dist.get_world_size()
torch.cuda.set_device(rank % torch.cuda.device_count())
TOKENS, WIDTH = 120, 64
expert = torch.nn.Linear(WIDTH, WIDTH).cuda()
router = torch.nn.Linear(WIDTH, world).cuda()
optimizer = torch.optim.SGD([*expert.parameters(), *router.parameters()], lr=0.1)
for step in range(3):
    x = torch.randn(TOKENS, WIDTH, device="cuda")
    scores = router(x).softmax(dim=-1)
    weight, chosen = scores.max(dim=-1)
    sent = torch.empty_like(x)
    dist.all_to_all_single(sent, x[chosen.argsort()])
    done = expert(sent)
    back = torch.empty_like(done)
    dist.all_to_all_single(back, done.detach())
    (done.sum() + (back * weight[:, None]).sum()).backward()
    for p in router.parameters():
        dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)
    optimizer.step()
    optimizer.zero_grad()
