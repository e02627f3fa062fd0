"""A whole step in a CUDA graph, with warm-up on a side stream, and a part of a network that
make_graphed_callables made of it.
"""
import torch
import torch.nn as nn

N, D_in, H, D_out = 64, 256, 128, 16
model = nn.Sequential(nn.Linear(D_in, H), nn.ReLU(), nn.Linear(H, D_out)).cuda()
loss_fn = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
static_input = torch.randn(N, D_in, device="cuda")
static_target = torch.randn(N, D_out, device="cuda")

s = torch.cuda.Stream()
s.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(s):
    for i in range(3):
        optimizer.zero_grad(set_to_none=True)
        loss = loss_fn(model(static_input), static_target)
        loss.backward()
        optimizer.step()
torch.cuda.current_stream().wait_stream(s)

g = torch.cuda.CUDAGraph()
optimizer.zero_grad(set_to_none=True)
with torch.cuda.graph(g):
    static_loss = loss_fn(model(static_input), static_target)
    static_loss.backward()
    optimizer.step()

for data, target in [(torch.rand(N, D_in), torch.rand(N, D_out)) for _ in range(5)]:
    static_input.copy_(data)
    static_target.copy_(target)
    g.replay()

part = torch.cuda.make_graphed_callables(
    nn.Sequential(nn.Linear(D_in, H), nn.ReLU()).cuda(),
    (torch.randn(N, D_in, device="cuda", requires_grad=True),),
)
head = nn.Linear(H, D_out).cuda()
others = torch.optim.SGD([*part.parameters(), *head.parameters()], lr=0.1)
for _ in range(2):
    others.zero_grad()
    head(part(static_input.clone().requires_grad_())).sum().backward()
    others.step()
print("done")
