import argparse

import torch
from torch import nn


def build(width: int, depth: int) -> nn.Module:
    layers = []
    for _ in range(depth):
        layers += [nn.Linear(width, width), nn.GELU()]
    return nn.Sequential(*layers).cuda()


def time_steps(model: nn.Module, batch: torch.Tensor, steps: int) -> float:
    start = torch.cuda.Event()
    end = torch.cuda.Event()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    start.record()
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=True)
        model(batch).square().mean().backward()
        optimizer.step()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / steps


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--depth", type=int, default=4)
    args = parser.parse_args()
    model = build(args.width, args.depth)
    batch = torch.randn(64, args.width, device="cuda")
    print(f"{time_steps(model, batch, 50):.3f} ms")


if __name__ == "__main__":
    main()
