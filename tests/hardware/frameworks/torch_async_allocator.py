"""PyTorch over cudaMallocAsync, on two streams in order."""

import os

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "backend:cudaMallocAsync"
import torch

x = torch.ones(1 << 20, device="cuda")
side = torch.cuda.Stream()
for _ in range(20):
    y = x * 2
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        z = y + 1
        y.record_stream(side)
    torch.cuda.current_stream().wait_stream(side)
    x = x + z * 0
    z.record_stream(torch.cuda.current_stream())
    del y, z
torch.cuda.synchronize()
torch.cuda.empty_cache()
print("sum", x.sum().item())
