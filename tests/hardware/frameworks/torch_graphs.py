"""CUDA graphs: capture, replay, a graphed training step and stream-ordered allocation inside."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 4)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(16, 32, device="cuda"), torch.randn(16, 4, device="cuda")
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        optimizer.zero_grad(set_to_none=True)
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
optimizer.zero_grad(set_to_none=True)
with torch.cuda.graph(graph):
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
for _ in range(20):
    graph.replay()
torch.cuda.synchronize()
print("loss", f"{loss.item():.4f}")
del graph
square = torch.cuda.make_graphed_callables(lambda t: t * t, (x,))
print("square", f"{square(x).sum().item():.3f}")
