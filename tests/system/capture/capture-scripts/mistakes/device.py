"""The rank of the world where that of the server is meant."""
import torch
import torch.distributed as dist

dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_rank())  # not the local rank
dist.all_reduce(torch.ones(4, device="cuda"))
