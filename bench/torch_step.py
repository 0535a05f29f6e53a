"""PyTorch's cost: one line when it is warm; then, for each line on stdin, one line of JSON with the microseconds of an eager `x.add_(1)`
on 1024 floats and the milliseconds of a training step of a transformer (cuBLAS) and of a convolutional network (cuDNN)."""

import json
import statistics
import sys
import time

import torch
from torch import nn


def eager(x: torch.Tensor, repeats: int = 1000) -> float:
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(repeats):
        x.add_(1)
    elapsed = time.perf_counter() - start
    torch.cuda.synchronize()
    return elapsed / repeats * 1e6


def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor, repeats: int = 5) -> float:
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


def convolutional() -> nn.Module:
    layers: list[nn.Module] = [nn.Conv2d(3, 64, 3, padding=1)]
    for _ in range(16):
        layers += [nn.Conv2d(64, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU()]
    return nn.Sequential(*layers).cuda()


def main() -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True)
    model = nn.TransformerEncoder(layer, 6).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    x = torch.randn(8, 128, 512, device="cuda")
    network = convolutional()
    descent = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)
    images = torch.randn(32, 3, 64, 64, device="cuda")
    numbers = torch.zeros(1024, device="cuda")
    eager(numbers)
    training_step(model, optimizer, x, 50)
    training_step(network, descent, images, 20)
    print("warm", flush=True)
    for _ in sys.stdin:
        figures = {
            "x.add_(1), µs": eager(numbers),
            "transformer training step, ms": training_step(model, optimizer, x),
            "convolutional training step, ms": training_step(network, descent, images, 2),
        }
        print(json.dumps(figures), flush=True)


main()
