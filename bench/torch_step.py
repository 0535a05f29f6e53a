"""PyTorch's cost: microseconds of an eager `x.add_(1)` on 1024 floats, milliseconds of a transformer training step; JSON on stdout."""

import json
import statistics
import time

import torch
from torch import nn


def eager(repeats: int = 50000) -> float:
    x = torch.zeros(1024, device="cuda")
    for _ in range(1000):
        x.add_(1)
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(repeats):
        x.add_(1)
    elapsed = time.perf_counter() - start
    torch.cuda.synchronize()
    return elapsed / repeats * 1e6


def training_step(repeats: int = 200) -> float:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True)
    model = nn.TransformerEncoder(layer, 6).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    x = torch.randn(8, 128, 512, device="cuda")
    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return statistics.median(times[repeats // 4 :]) * 1e3


print(json.dumps({"x.add_(1), µs": eager(), "transformer training step, ms": training_step()}))
