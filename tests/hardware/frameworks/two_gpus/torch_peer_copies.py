"""PyTorch copies between two GPUs, both ways, and computes on both."""

import torch

source = torch.arange(1 << 16, dtype=torch.float32, device="cuda:0")
there = source.to("cuda:1", non_blocking=True) * 2
back = there.to("cuda:0", non_blocking=True) + 1
torch.cuda.synchronize(0)
torch.cuda.synchronize(1)
print("sum", back.sum().item(), torch.cuda.can_device_access_peer(0, 1))
