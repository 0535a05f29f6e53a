"""A training step of DistributedDataParallel on two GPUs with NCCL: the first process is rank 0 and starts rank 1. One line when both are
warm; then, for each line on stdin, one line of JSON with the milliseconds of steps."""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO

import torch
from torch import distributed, nn

LAYERS, WIDTH, STEPS = 48, 512, 20
EVENTS, STREAMS = 2000, 264


def step(model: nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor) -> float:
    torch.cuda.synchronize()
    begun = time.perf_counter()
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
    torch.cuda.synchronize()
    return (time.perf_counter() - begun) * 1e3


def train(rank: int, meeting: str, other: IO[str] | None = None) -> None:
    """``other``: what rank 0 tells rank 1 through. Neither waits for the other on a GPU, where that would take part of it."""
    torch.cuda.set_device(rank)
    distributed.init_process_group("nccl", init_method=f"file://{meeting}", rank=rank, world_size=2)
    torch.manual_seed(0)
    layers = [layer for _ in range(LAYERS) for layer in (nn.Linear(WIDTH, WIDTH), nn.ReLU())]
    model = nn.parallel.DistributedDataParallel(nn.Sequential(*layers).cuda(), device_ids=[rank], bucket_cap_mb=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(256, WIDTH, device="cuda")
    streams = [torch.cuda.Stream() for _ in range(STREAMS)]
    events = [torch.cuda.Event() for _ in range(EVENTS)]
    for at, event in enumerate(events):
        event.record(streams[at % STREAMS])
    for _ in range(20):
        step(model, optimizer, x)
    if rank == 0:
        print("warm", flush=True)
    for line in sys.stdin:
        if other is not None:
            print(line, end="", file=other, flush=True)
        times = [step(model, optimizer, x) for _ in range(STEPS)]
        if rank == 0:
            print(json.dumps({"DDP training step, 2 ranks, NCCL": times}), flush=True)
    if other is not None:
        other.close()
    distributed.destroy_process_group()


def main() -> None:
    if len(sys.argv) > 1:
        train(1, sys.argv[1])
        return
    with tempfile.TemporaryDirectory() as folder:
        meeting = str(Path(folder, "meeting"))
        with subprocess.Popen([sys.executable, __file__, meeting], stdin=subprocess.PIPE, text=True) as other:
            assert other.stdin
            train(0, meeting, other.stdin)


main()
