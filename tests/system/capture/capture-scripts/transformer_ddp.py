"""nn.Transformer parts and nn.MultiheadAttention under DDP: padding masks, causal masks, gradient
accumulation with no_sync, an exponential average, torch.utils.checkpoint, timing by events,
gathered objects, a broadcast list, a checkpoint loaded with map_location.
"""
import contextlib
import copy
import os
import tempfile

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.checkpoint import checkpoint

try:
    from torch.utils.tensorboard import SummaryWriter
except ImportError:
    SummaryWriter = None


class Model(nn.Module):
    def __init__(self, vocab=1000, d=128, heads=4, layers=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, d, padding_idx=0)
        layer = nn.TransformerEncoderLayer(
            d, heads, 4 * d, dropout=0.1, activation="gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.extra = nn.TransformerEncoderLayer(d, heads, 4 * d, batch_first=True)
        self.cross = nn.MultiheadAttention(d, heads, dropout=0.1, batch_first=True)
        self.query = nn.Parameter(torch.zeros(1, 8, d))
        self.head = nn.Linear(d, vocab)

    def forward(self, tokens):
        padding = tokens == 0
        causal = nn.Transformer.generate_square_subsequent_mask(tokens.size(1)).to(tokens.device)
        x = self.embed(tokens)
        x = self.encoder(x, mask=causal, src_key_padding_mask=padding)
        x = checkpoint(self.extra, x)
        q = self.query.expand(x.size(0), -1, -1)
        pooled, weights = self.cross(q, x, x, key_padding_mask=padding, need_weights=True)
        return self.head(x) + self.head(pooled).mean(1, keepdim=True)


@torch.no_grad()
def update_average(average, model, decay):
    for kept, new in zip(average.parameters(), model.parameters()):
        kept.mul_(decay).add_(new, alpha=1 - decay)


def main():
    local_rank = int(os.environ.get("LOCAL_RANK", 0))
    dist.init_process_group(backend="nccl", init_method="env://")
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device(f"cuda:{local_rank}")
    torch.cuda.set_device(device)
    seed = 42 + rank
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)
    torch.use_deterministic_algorithms(False)
    model = Model().to(device)
    average = copy.deepcopy(model).eval()
    for p in average.parameters():
        p.requires_grad_(False)
    model = DDP(model, device_ids=[local_rank], gradient_as_bucket_view=True, static_graph=False)
    decay, no_decay = [], []
    for name, p in model.named_parameters():
        (no_decay if p.ndim < 2 else decay).append(p)
    optimizer = torch.optim.AdamW(
        [{"params": decay, "weight_decay": 0.01}, {"params": no_decay, "weight_decay": 0.0}],
        lr=1e-3,
    )
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-3, total_steps=20)
    scaler = torch.cuda.amp.GradScaler()
    criterion = nn.CrossEntropyLoss(ignore_index=0, label_smoothing=0.1)
    writer = SummaryWriter() if SummaryWriter is not None and rank == 0 else None
    accumulate = 3
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    for step in range(4):
        start.record()
        for micro in range(accumulate):
            tokens = torch.randint(0, 1000, (4, 64)).pin_memory().to(device, non_blocking=True)
            last = micro == accumulate - 1
            context = contextlib.nullcontext() if last else model.no_sync()
            with context, torch.autocast("cuda", dtype=torch.float16):
                logits = model(tokens)
                loss = criterion(logits.view(-1, logits.size(-1)), tokens.view(-1)) / accumulate
                scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        scheduler.step()
        update_average(average, model.module, 0.999)
        end.record()
        torch.cuda.synchronize()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        mean /= world
        if rank == 0:
            print(f"step {step} {start.elapsed_time(end):.1f} ms loss {mean.item():.3f}")
            if writer:
                writer.add_scalar("loss", mean.item(), step)
        told = [None] * world
        dist.all_gather_object(told, {"rank": rank, "step": step})
        assert [one["rank"] for one in told] == list(range(world)), told
        plan = [f"plan {step}", {"stop": False}] if rank == 0 else [None, None]
        dist.broadcast_object_list(plan, src=0)
        assert plan[1]["stop"] is False
    path = [tempfile.mkdtemp()] if rank == 0 else [None]
    dist.broadcast_object_list(path, src=0)
    name = os.path.join(path[0], "checkpoint.pt")
    if rank == 0:
        torch.save(
            {
                "model": model.module.state_dict(),
                "optimizer": optimizer.state_dict(),
                "scaler": scaler.state_dict(),
                "scheduler": scheduler.state_dict(),
                "cpu_rng": torch.get_rng_state(),
                "cuda_rng": torch.cuda.get_rng_state(),
                "all_rng": torch.cuda.get_rng_state_all(),
            },
            name,
        )
    dist.barrier(device_ids=[local_rank])
    saved = torch.load(name, map_location={"cuda:0": f"cuda:{local_rank}"})
    model.module.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    scaler.load_state_dict(saved["scaler"])
    torch.cuda.set_rng_state(saved["cuda_rng"].cpu())
    print(rank, f"{torch.cuda.max_memory_allocated() / 2**20:.0f} MiB", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
