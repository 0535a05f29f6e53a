"""PyTorch sends tensors from GPU to GPU over NCCL, with send and recv, and in batches."""

import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def exchange(rank: int, meeting: str) -> None:
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=f"file://{meeting}", rank=rank, world_size=2)
    tensor = torch.full((1024,), float(rank + 1), device=f"cuda:{rank}")
    if rank == 0:
        dist.send(tensor, 1)
    else:
        dist.recv(tensor, 0)
    other = torch.empty_like(tensor)
    peer = 1 - rank
    operations = [dist.P2POp(dist.isend, tensor, peer), dist.P2POp(dist.irecv, other, peer)]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    torch.cuda.synchronize()
    if rank == 1:
        print("received", tensor.sum().item(), other.sum().item())
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(exchange, args=(os.path.join(folder, "meeting"),), nprocs=2)
