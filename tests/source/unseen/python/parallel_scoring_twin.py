import multiprocessing as mp
from dataclasses import dataclass

import torch


@dataclass
class Job:
    start: int
    stop: int


def build_model() -> torch.nn.Module:
    torch.manual_seed(7)
    return torch.nn.Sequential(
        torch.nn.Linear(64, 128),
        torch.nn.ReLU(),
        torch.nn.Linear(128, 1),
    )


def score(job: Job, results) -> None:
    model = build_model().cuda().eval()
    with torch.no_grad():
        rows = torch.arange(job.start, job.stop, dtype=torch.float32).cuda()
        features = rows.unsqueeze(1).expand(-1, 64) / 1000.0
        results.put((job.start, model(features).sum().item()))


def warm_reference() -> float:
    device = torch.device("cuda")
    model = build_model().to(device).eval()
    with torch.no_grad():
        return model(torch.ones(8, 64, device=device)).mean().item()


def main() -> None:
    print(f"reference score {warm_reference():.4f}")
    ctx = mp.get_context("spawn")
    results = ctx.Queue()
    jobs = [Job(i, i + 500) for i in range(0, 2000, 500)]
    workers = [ctx.Process(target=score, args=(job, results)) for job in jobs]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    failed = [w.exitcode for w in workers if w.exitcode != 0]
    if failed:
        raise RuntimeError(f"{len(failed)} scoring workers failed")
    for _ in jobs:
        start, value = results.get()
        print(f"rows from {start}: {value:.3f}")


if __name__ == "__main__":
    main()
