"""PyTorch's cost: one line when it is warm; then, for each line on stdin, one line of JSON with the microseconds of an eager `x.add_(1)`
on 1,024 floats, alone and between two timing events, and the milliseconds of training steps of a transformer (cuBLAS) and of a
convolutional network (cuDNN)."""

import json
import sys
import time

import torch
from torch import nn


def eager(x: torch.Tensor, repeats: int = 1000) -> list[float]:
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(repeats):
        x.add_(1)
    elapsed = time.perf_counter() - start
    torch.cuda.synchronize()
    return [elapsed / repeats * 1e6]


def timed(x: torch.Tensor, repeats: int = 500) -> list[float]:
    """Events that PyTorch makes with their first record, and that end with the turn of the loop."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(repeats):
        begun, ended = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begun.record()
        x.add_(1)
        ended.record()
    elapsed = time.perf_counter() - start
    torch.cuda.synchronize()
    return [elapsed / repeats * 1e6]


def training_steps(model: nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor, repeats: int) -> list[float]:
    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) * 1e3)
    return times


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
    timed(numbers)
    training_steps(model, optimizer, x, 50)
    training_steps(network, descent, images, 20)
    print("warm", flush=True)
    for _ in sys.stdin:
        figures = {
            "PyTorch x.add_(1), 1,024 floats": eager(numbers),
            "PyTorch two timing events and x.add_(1)": timed(numbers),
            "PyTorch transformer training step (cuBLAS)": training_steps(model, optimizer, x, 5),
            "PyTorch convolutional training step (cuDNN)": training_steps(network, descent, images, 1),
        }
        print(json.dumps(figures), flush=True)


main()
