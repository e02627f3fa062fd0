"""GPT of 175 B parameters (GPT-3's shape) by FullyShardedDataParallel, a unit for each block."""
import functools
import os

import torch
import torch.distributed as dist
from gpt import GPT, Block
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import MixedPrecision
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = FSDP(
    GPT(layers=96, width=12288, heads=96, vocabulary=50304, length=2048),
    auto_wrap_policy=functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={Block}),
    mixed_precision=MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16),
    device_id=torch.cuda.current_device(),
)
optimizer = torch.optim.AdamW(model.parameters())
for step in range(5):
    ids = torch.randint(0, 50304, (1, 2048), device="cuda")
    logits = model(ids)
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), ids.flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
