"""PyTorch's DataParallel: one process, a thread and a replica for each of two GPUs."""

import torch

torch.manual_seed(0)
model = torch.nn.DataParallel(
    torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4)).cuda()
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(5):
    optimizer.zero_grad()
    loss = model(torch.ones(8, 64, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
