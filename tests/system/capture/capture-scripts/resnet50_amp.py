"""ResNet-50 with automatic mixed precision on one GPU."""
import argparse

import torch
import torchvision

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=64)
args = parser.parse_args()

torch.manual_seed(0)
torch.backends.cudnn.benchmark = True
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print("training on", device, torch.cuda.get_device_name(0))
model = torchvision.models.resnet50().to(device, memory_format=torch.channels_last)
print("parameters:", sum(p.numel() for p in model.parameters()))
criterion = torch.nn.CrossEntropyLoss().to(device)
optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=1e-4)
scaler = torch.cuda.amp.GradScaler()

for epoch in range(90):
    for i in range(1000):
        images = torch.randn(args.batch_size, 3, 224, 224).to(device, non_blocking=True)
        target = torch.randint(0, 1000, (args.batch_size,)).to(device)
        with torch.cuda.amp.autocast():
            output = model(images)
            loss = criterion(output, target)
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        if i % 10 == 0:
            print(f"epoch {epoch} step {i} loss {loss.item():.4f}")
