"""PyTorch's DistributedDataParallel: two ranks, one GPU each, gradients over NCCL; both ranks end with the same weights."""

import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel


def train(rank: int, meeting: str) -> None:
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=f"file://{meeting}", rank=rank, world_size=2)
    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Linear(64, 8).cuda(rank), device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    generator = torch.Generator().manual_seed(rank)
    for _ in range(10):
        optimizer.zero_grad()
        model(torch.randn(32, 64, generator=generator).cuda(rank)).square().mean().backward()
        optimizer.step()
    weights = [torch.zeros_like(model.module.weight) for _ in range(2)]
    dist.all_gather(weights, model.module.weight.detach())
    if rank == 0:
        print("same weights", torch.equal(weights[0], weights[1]), f"norm {weights[0].norm().item():.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(train, args=(os.path.join(folder, "meeting"),), nprocs=2)
