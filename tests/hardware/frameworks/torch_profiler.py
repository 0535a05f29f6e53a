"""PyTorch's profiler, which subscribes to CUPTI, while a small model runs."""

import torch
from torch.profiler import ProfilerActivity, profile

torch.manual_seed(0)
model = torch.nn.Linear(256, 256).cuda()
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiled:
    for _ in range(3):
        loss = model(torch.ones(64, 256, device="cuda")).sum()
        loss.backward()
    torch.cuda.synchronize()
names = {event.key for event in profiled.key_averages()}
print(f"loss {loss.item():.2f}", "launches seen", "cudaLaunchKernel" in names or "cuLaunchKernelEx" in names)
