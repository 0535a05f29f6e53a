import os
from datetime import timedelta

import torch
import torch.distributed as dist


class DistEnv:
    def __init__(self):
        self.rank = int(os.environ.get("RANK", 0))
        self.local_rank = int(os.environ.get("LOCAL_RANK", 0))
        self.world = int(os.environ.get("WORLD_SIZE", 1))

    @property
    def is_main(self):
        return self.rank == 0

    @property
    def distributed(self):
        return self.world > 1

    def start(self):
        torch.cuda.set_device(self.rank)
        if self.distributed:
            dist.init_process_group(
                backend="nccl",
                rank=self.rank,
                world_size=self.world,
                timeout=timedelta(minutes=20),
            )
            dist.barrier()

    def stop(self):
        if dist.is_initialized():
            dist.destroy_process_group()

    def mean(self, value):
        if not self.distributed:
            return float(value)
        t = torch.tensor([float(value)], device="cuda")
        dist.all_reduce(t)
        return t.item() / self.world
