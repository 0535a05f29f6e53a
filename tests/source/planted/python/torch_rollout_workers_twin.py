import multiprocessing as mp

import torch


def rollout(rank, steps, results):
    policy = torch.nn.Linear(8, 2).to("cuda")
    state = torch.zeros(1, 8, device="cuda")
    total = 0.0
    for _ in range(steps):
        action = policy(state)
        state = torch.tanh(state + action.mean())
        total += float(state.sum())
    results.put((rank, total))


def main():
    torch.cuda.set_device(0)
    warm = torch.ones(1 << 20, device="cuda")
    print(f"warm-up {warm.sum().item():.0f}")
    context = mp.get_context("spawn")
    results = context.Queue()
    workers = [context.Process(target=rollout, args=(i, 100, results)) for i in range(4)]
    for worker in workers:
        worker.start()
    for _ in workers:
        rank, total = results.get()
        print(rank, total)
    for worker in workers:
        worker.join()


if __name__ == "__main__":
    main()
