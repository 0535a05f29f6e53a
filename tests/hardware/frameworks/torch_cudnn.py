"""Training with what PyTorch takes from NVIDIA's libraries: convolutions and an LSTM (cuDNN), products (cuBLAS), a solve (cuSOLVER),
a transform (cuFFT), a sparse product (cuSPARSE) and random numbers, on two streams."""

import torch
from torch import nn


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.images = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2), nn.ReLU()
        )
        self.rows = nn.LSTM(32, 48, num_layers=2, batch_first=True)
        self.head = nn.Linear(48, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        features = self.images(x).mean(dim=3).transpose(1, 2)
        result: torch.Tensor = self.head(self.rows(features)[0][:, -1])
        return result


def main() -> None:
    torch.manual_seed(0)
    assert torch.backends.cudnn.is_available()
    torch.backends.cudnn.deterministic = True
    model = Network().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    side = torch.cuda.Stream()
    losses = []
    for batch in (32, 32, 16, 32):
        x, y = torch.randn(batch, 3, 32, 32).cuda(), torch.randn(batch, 8).cuda()
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        matrix = torch.eye(64, device="cuda") * 4 + torch.ones(64, 64, device="cuda") / 64
        solved = torch.linalg.solve(matrix, torch.ones(64, 1, device="cuda"))
        back = torch.fft.ifft(torch.fft.fft(solved.squeeze())).real
        dense = torch.sparse.mm(torch.eye(64, device="cuda").to_sparse_csr(), back.unsqueeze(1))
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    print(
        "cudnn",
        torch.backends.cudnn.version(),
        "loss",
        f"{torch.stack(losses).mean().item():.3f}",
        "sum",
        f"{dense.sum().item():.4f}",
    )


if __name__ == "__main__":
    main()
