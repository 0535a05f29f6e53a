"""Training steps of models that others wrote, at batch sizes in use: one line when it is warm; then, for each line on stdin, one line of
JSON with the milliseconds of steps of torchvision's ResNet-50 (128 images, AMP, SGD) and of GPT-2 of transformers (124 million
parameters, 8 × 1,024 tokens, bfloat16, AdamW). Weights and data are random: nothing is fetched."""

import json
import sys
import time
from collections.abc import Callable

import torch
from torch import nn
from torchvision.models import resnet50
from transformers import GPT2Config, GPT2LMHeadModel


def image_step() -> Callable[[], None]:
    model = resnet50().cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    scaler = torch.amp.GradScaler("cuda")
    images = torch.randn(128, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
    labels = torch.randint(1000, (128,), device="cuda")

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.float16):
            loss = nn.functional.cross_entropy(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    return step


def language_step() -> Callable[[], None]:
    model = GPT2LMHeadModel(GPT2Config()).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    tokens = torch.randint(50257, (8, 1024), device="cuda")

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(tokens, labels=tokens).loss
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


def milliseconds(step: Callable[[], None], repeats: int) -> list[float]:
    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        step()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) * 1e3)
    return times


def main() -> None:
    torch.manual_seed(0)
    steps = {
        "torchvision ResNet-50 training step, 128 images, AMP": image_step(),
        "transformers GPT-2 training step, 8 × 1,024 tokens, bfloat16": language_step(),
    }
    for step in steps.values():
        milliseconds(step, 15)
    print("warm", flush=True)
    for _ in sys.stdin:
        print(json.dumps({name: milliseconds(step, 2) for name, step in steps.items()}), flush=True)


main()
