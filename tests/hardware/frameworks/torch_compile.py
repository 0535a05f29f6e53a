"""torch.compile with its Triton kernels, where it works."""

import torch

torch.manual_seed(0)


@torch.compile
def f(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.gelu(a @ b).sum(dim=1)


a, b = torch.randn(64, 64, device="cuda"), torch.randn(64, 64, device="cuda")
print("compiled", f"{f(a, b).sum().item():.3f}")
