"""A training loop with several streams, pinned memory, events and a data loader with workers."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main() -> None:
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(False)
    data = TensorDataset(torch.randn(512, 64), torch.randn(512, 8))
    loader = DataLoader(data, batch_size=64, num_workers=2, pin_memory=True)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 8)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    copies, side = torch.cuda.Stream(), torch.cuda.Stream()
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    losses = []
    for _ in range(3):
        for x, y in loader:
            with torch.cuda.stream(copies):
                x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
            torch.cuda.current_stream().wait_stream(copies)
            x.record_stream(torch.cuda.current_stream())
            y.record_stream(torch.cuda.current_stream())
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                norm = sum(p.detach().norm() for p in model.parameters())
            torch.cuda.current_stream().wait_stream(side)
            losses.append(loss.detach())
    stop.record()
    torch.cuda.synchronize()
    assert start.elapsed_time(stop) > 0
    print("batches", len(losses), "loss", f"{torch.stack(losses).mean().item():.4f}", "norm", f"{norm.item():.3f}")


if __name__ == "__main__":
    main()
