"""PyTorch's cost: for each line on stdin, one line of JSON with the microseconds of an eager `x.add_(1)` on 1024 floats and the
milliseconds of a transformer training step."""

import json
import statistics
import sys
import time

import torch
from torch import nn


def eager(x: torch.Tensor, repeats: int = 4000) -> float:
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(repeats):
        x.add_(1)
    elapsed = time.perf_counter() - start
    torch.cuda.synchronize()
    return elapsed / repeats * 1e6


def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor, repeats: int = 15) -> float:
    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def main() -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True)
    model = nn.TransformerEncoder(layer, 6).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    x = torch.randn(8, 128, 512, device="cuda")
    numbers = torch.zeros(1024, device="cuda")
    eager(numbers)
    training_step(model, optimizer, x, 50)
    for _ in sys.stdin:
        figures = {"x.add_(1), µs": eager(numbers), "transformer training step, ms": training_step(model, optimizer, x)}
        print(json.dumps(figures), flush=True)


main()
