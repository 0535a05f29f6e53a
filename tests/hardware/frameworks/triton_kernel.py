"""A Triton kernel launched on two streams."""

import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) + tl.load(y + at, at < n), at < n)


x, y = torch.ones(5000, device="cuda"), torch.full((5000,), 2.0, device="cuda")
out = torch.empty_like(x)
add[(triton.cdiv(5000, 1024),)](x, y, out, 5000, BLOCK=1024)
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    add[(triton.cdiv(5000, 1024),)](out, y, x, 5000, BLOCK=1024)
side.synchronize()
print("sum", x.sum().item())
