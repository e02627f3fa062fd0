"""Networks that the simulator's zoo has as well, as one writes them in PyTorch: torchvision's
ResNet-50 and VGG-16 with channels last, GPT-2 and BERT-base by hand; by DDP or FSDP, in one data
type.
"""
import argparse
import os

import torch
import torch.distributed as dist
import torchvision
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP


class Block(nn.Module):
    """Norm in front (GPT) or behind (BERT)."""

    def __init__(self, width, heads, causal, dropout, fused):
        super().__init__()
        self.heads, self.causal, self.dropout, self.fused = heads, causal, dropout, fused
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attention(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).split(c, dim=2)
        q, k, v = (y.view(b, t, self.heads, c // self.heads).transpose(1, 2) for y in (q, k, v))
        if self.fused:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        else:
            weights = (q @ k.transpose(-2, -1)) / (c // self.heads) ** 0.5
            if self.causal:
                mask = torch.ones(t, t, dtype=torch.bool, device=x.device).tril()
                weights = weights.masked_fill(~mask, float("-inf"))
                weights = F.softmax(weights, dim=-1)
            else:
                # No token is hidden. Softmax in single precision, as autocast has it.
                weights = weights + torch.zeros(b, 1, 1, t, dtype=x.dtype, device=x.device)
                weights = F.softmax(weights, dim=-1, dtype=torch.float32)
            y = F.dropout(weights, self.dropout).to(v.dtype) @ v
        return F.dropout(self.proj(y.transpose(1, 2).reshape(b, t, c)), self.dropout)

    def feed_forward(self, x):
        return F.dropout(self.down(F.gelu(self.up(x))), self.dropout)

    def forward(self, x):
        if self.causal:
            x = x + self.attention(self.ln1(x))
            return x + self.feed_forward(self.ln2(x))
        x = self.ln1(x + self.attention(x))
        return self.ln2(x + self.feed_forward(x))


class Language(nn.Module):
    def __init__(self, kind, fused, layers=12, width=768, heads=12):
        super().__init__()
        self.gpt = kind == "gpt2"
        vocabulary, length = (50257, 1024) if self.gpt else (30522, 512)
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        if not self.gpt:
            self.kinds, self.first = nn.Embedding(2, width), nn.LayerNorm(width)
            self.pooler = nn.Linear(width, width)
        self.blocks = nn.ModuleList(
            Block(width, heads, self.gpt, 0.1, fused) for _ in range(layers)
        )
        if self.gpt:
            self.norm = nn.LayerNorm(width)
            self.head = nn.Linear(width, vocabulary, bias=False)
            self.head.weight = self.tokens.weight

    def forward(self, ids):
        x = self.tokens(ids) + self.places(torch.arange(ids.size(1), device=ids.device))
        if not self.gpt:
            x = self.first(x + self.kinds(torch.zeros_like(ids)))
        x = F.dropout(x, 0.1)
        for block in self.blocks:
            x = block(x)
        if self.gpt:
            return self.head(self.norm(x))
        return torch.tanh(self.pooler(x[:, 0]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--optimizer", default="adam")
    parser.add_argument("--fsdp", action="store_true")
    parser.add_argument("--fused", action="store_true")
    args = parser.parse_args()
    dist.init_process_group("nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dtype = getattr(torch, args.dtype)
    language = args.model in ("gpt2", "bert")
    if language:
        model = Language(args.model, args.fused)
    else:
        model = getattr(torchvision.models, args.model)().to(memory_format=torch.channels_last)
    print("parameters:", sum(p.numel() for p in model.parameters()))
    model = model.cuda().to(dtype)
    if args.fsdp:
        policy = None
        if language:
            def policy(module, recurse, unwrapped_params):
                return transformer_auto_wrap_policy(module, recurse, unwrapped_params, {Block})
        model = FSDP(model, auto_wrap_policy=policy)
    else:
        model = DDP(model, device_ids=[local_rank], gradient_as_bucket_view=True)
    if args.optimizer == "adam":
        optimizer = torch.optim.Adam(model.parameters(), fused=True)
    else:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=True)
    for step in range(4):
        if language:
            ids = torch.randint(0, 1000, (args.batch_size, args.length), device="cuda")
            out = model(ids)
            if args.model == "gpt2":
                loss = F.cross_entropy(out.flatten(0, 1).float(), ids.flatten())
            else:
                loss = out.mean()
        else:
            images = torch.randn(args.batch_size, 3, 224, 224, device="cuda", dtype=dtype)
            images = images.to(memory_format=torch.channels_last)
            labels = torch.randint(0, 1000, (args.batch_size,), device="cuda")
            loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    if dist.get_rank() == 0:
        print("done")


if __name__ == "__main__":
    main()
