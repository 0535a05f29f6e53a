"""PyTorch's allocator with expandable segments: memory is mapped and unmapped with cuMemMap."""

import os

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"

import torch

kept = []
for size in (1 << 20, 5 << 20, 33 << 20, 7 << 20):
    kept.append(torch.full((size,), 1.0, device="cuda"))
    if len(kept) == 3:
        del kept[0]
        torch.cuda.empty_cache()
with torch.cuda.stream(torch.cuda.Stream()):
    other = torch.zeros(3 << 20, device="cuda")
torch.cuda.synchronize()
del other
torch.cuda.empty_cache()
print("sums", [tensor.sum().item() for tensor in kept])
