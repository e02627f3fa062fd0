"""nn.DataParallel over the GPUs of one process, and a network whose halves are on two GPUs."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 3, padding=1)
        self.norm = nn.BatchNorm2d(16)
        self.fc = nn.Linear(16 * 16 * 16, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.conv(x))), 2)
        return self.fc(x.flatten(1))


class Halves(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3 * 32 * 32, 64).to("cuda:0")
        self.second = nn.Linear(64, 10).to("cuda:1")

    def forward(self, x):
        x = torch.relu(self.first(x.flatten(1).to("cuda:0")))
        return self.second(x.to("cuda:1"))


device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
model = Net()
if torch.cuda.device_count() > 1:
    print("Let's use", torch.cuda.device_count(), "GPUs!")
    model = nn.DataParallel(model)
model.to(device)
halves = Halves()
data = TensorDataset(torch.randn(64, 3, 32, 32), torch.randint(0, 10, (64,)))
loader = DataLoader(data, batch_size=16, shuffle=True)
optimizer = torch.optim.SGD([*model.parameters(), *halves.parameters()], lr=0.01, momentum=0.9)
for images, labels in loader:
    images, labels = images.to(device), labels.to(device)
    optimizer.zero_grad()
    output = model(images)
    loss = F.cross_entropy(output, labels)
    other = F.cross_entropy(halves(images), labels.to("cuda:1"))
    (loss + other.to("cuda:0")).backward()
    optimizer.step()
print("outside: input size", images.size(), "output size", output.size())
