"""fully_shard with a checkpoint by torch.distributed.checkpoint: loaded, trained, saved."""

import os
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.nn as nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.checkpoint.stateful import Stateful
from torch.distributed.fsdp import fully_shard

WIDTH, LAYERS, FOLDER = 256, 3, "checkpoint"


class Training(Stateful):
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def state_dict(self):
        model, optimizer = get_state_dict(self.model, self.optimizer)
        return {"model": model, "optimizer": optimizer}

    def load_state_dict(self, state):
        set_state_dict(
            self.model,
            self.optimizer,
            model_state_dict=state["model"],
            optim_state_dict=state["optimizer"],
        )


def main():
    dist.init_process_group("cpu:gloo,cuda:nccl")
    rank = dist.get_rank()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    model = nn.Sequential(*(nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS))).cuda()
    for layer in model:
        fully_shard(layer)
    fully_shard(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    training = Training(model, optimizer)
    for step in range(10):
        loss = model(torch.randn(16, WIDTH, device="cuda")).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if "--asynchronous" in sys.argv:
            dcp.async_save({"training": training}, checkpoint_id=f"{FOLDER}-{step}").result()
        elif step < 2:
            dcp.save({"training": training}, checkpoint_id=FOLDER)
        if step == 0 and "--load" in sys.argv:
            dcp.load({"training": training}, checkpoint_id=FOLDER)
        if rank == 0:
            print("step", step, flush=True)


if __name__ == "__main__":
    main()
