"""A serving loop's cost in PyTorch: one line when it is warm; then, for each line on stdin, one line of JSON with the milliseconds of
steps. A step fills 20 pinned buffers of 1 to 20 KiB, copies each to the GPU, runs a small network on them, copies the
tokens back into pinned memory, waits for an event after that copy, and reads them."""

import json
import sys
import time

import torch
from torch import nn

COPIES = 20


class Loop:
    """What lives through all steps."""

    def __init__(self) -> None:
        self.inputs = [torch.zeros(256 * (each + 1), pin_memory=True) for each in range(COPIES)]
        self.on_gpu = [torch.zeros_like(each, device="cuda") for each in self.inputs]
        self.network = nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 1024), nn.GELU()).cuda()
        self.tokens = torch.zeros(COPIES, dtype=torch.int64, pin_memory=True)
        self.done = torch.cuda.Event()

    @torch.inference_mode()
    def step(self, number: int) -> int:
        for each, there in zip(self.inputs, self.on_gpu, strict=True):
            each.fill_(number % 7)
            there.copy_(each, non_blocking=True)
        rows = torch.stack([each[:256] for each in self.on_gpu])
        self.tokens.copy_(self.network(rows).argmax(dim=1), non_blocking=True)
        self.done.record()
        self.done.synchronize()
        return int(self.tokens.sum())


def steps(loop: Loop, repeats: int = 100) -> list[float]:
    times = []
    for number in range(repeats):
        start = time.perf_counter()
        loop.step(number)
        times.append((time.perf_counter() - start) * 1e3)
    return times


def main() -> None:
    torch.manual_seed(0)
    loop = Loop()
    steps(loop)
    print("warm", flush=True)
    for _ in sys.stdin:
        print(json.dumps({"PyTorch serving step, 20 pinned copies": steps(loop)}), flush=True)


main()
