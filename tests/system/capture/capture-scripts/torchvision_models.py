"""Classifiers of torchvision, forward, backward and two steps of AdamW each: those that are named,
or all 80. The second step under autocast with a GradScaler.
"""
import sys

import torch
from torch.nn import functional as F
from torchvision import models

names = sys.argv[1:] or models.list_models(module=models)
for name in names:
    model = models.get_model(name, weights=None).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.cuda.amp.GradScaler()
    size = 299 if name == "inception_v3" else 224
    images = torch.randn(4, 3, size, size, device="cuda")
    labels = torch.randint(0, 1000, (4,), device="cuda")
    for half in (False, True):
        optimizer.zero_grad()
        with torch.autocast("cuda", enabled=half):
            out = model(images)
            out = out if torch.is_tensor(out) else out.logits if hasattr(out, "logits") else out[0]
            loss = F.cross_entropy(out, labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    print(name, sum(p.numel() for p in model.parameters()), flush=True)
