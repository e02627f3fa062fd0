"""Translation as PyTorch's tutorial has it: nn.Transformer with masks, padded sentences from a
DataLoader with workers, a loss with label smoothing, a schedule with a warm-up.
"""
import math
import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

PADDING, WORDS, WIDTH, LONGEST = 0, 500, 64, 100


class Sentences(Dataset):
    def __len__(self):
        return 600

    def __getitem__(self, i):
        generator = torch.Generator().manual_seed(i)
        return [torch.randint(4, WORDS, (n,), generator=generator) for n in (9 + i % 4, 10)]


def collate(batch):
    return [pad_sequence(side, padding_value=PADDING) for side in zip(*batch)]


class Positions(nn.Module):
    def __init__(self):
        super().__init__()
        rate = torch.exp(-torch.arange(0, WIDTH, 2) * math.log(10000) / WIDTH)
        at = torch.arange(LONGEST).reshape(LONGEST, 1) * rate
        table = torch.zeros(LONGEST, WIDTH)
        table[:, 0::2], table[:, 1::2] = torch.sin(at), torch.cos(at)
        self.register_buffer("table", table.unsqueeze(1))
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        return self.dropout(x * math.sqrt(WIDTH) + self.table[: len(x)])


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.source = nn.Embedding(WORDS, WIDTH, padding_idx=PADDING)
        self.target = nn.Embedding(WORDS, WIDTH, padding_idx=PADDING)
        self.positions = Positions()
        self.transformer = nn.Transformer(WIDTH, 4, 2, 2, 128, 0.1)
        self.words = nn.Linear(WIDTH, WORDS)

    def forward(self, source, target, mask):
        gone, behind = (source == PADDING).T, (target == PADDING).T
        x, y = self.positions(self.source(source)), self.positions(self.target(target))
        return self.words(self.transformer(x, y, None, mask, None, gone, behind, gone))


def main():
    dist.init_process_group("nccl")
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    torch.manual_seed(0)
    net = Translator()
    for p in net.parameters():
        if p.dim() > 1:
            nn.init.xavier_uniform_(p)
    net = DDP(net.cuda(), device_ids=[local])
    criterion = nn.CrossEntropyLoss(ignore_index=PADDING, label_smoothing=0.1)
    optimizer = torch.optim.Adam(net.parameters(), lr=1, betas=(0.9, 0.98), eps=1e-9)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) ** -0.5, (step + 1) * 400**-1.5) / 8
    )
    data = Sentences()
    sampler = DistributedSampler(data)
    loader = DataLoader(
        data, 16, sampler=sampler, collate_fn=collate, num_workers=2, pin_memory=True
    )
    for epoch in range(2):
        sampler.set_epoch(epoch)
        net.train()
        for source, target in loader:
            source, target = source.cuda(non_blocking=True), target.cuda(non_blocking=True)
            told, wanted = target[:-1], target[1:]
            mask = nn.Transformer.generate_square_subsequent_mask(len(told)).cuda()
            said = net(source, told, mask)
            loss = criterion(said.flatten(0, 1), wanted.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()


if __name__ == "__main__":
    main()
