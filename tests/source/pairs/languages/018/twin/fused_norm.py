import torch
import triton
import triton.language as tl


@triton.jit
def _add_rmsnorm(x_ptr, res_ptr, w_ptr, y_ptr, stride, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    m = cols < n
    x = tl.load(x_ptr + row * stride + cols, mask=m, other=0.0).to(tl.float32)
    r = tl.load(res_ptr + row * stride + cols, mask=m, other=0.0).to(tl.float32)
    h = x + r
    tl.store(res_ptr + row * stride + cols, h, mask=m)
    inv = 1.0 / tl.sqrt(tl.sum(h * h, axis=0) / n + eps)
    w = tl.load(w_ptr + cols, mask=m, other=0.0).to(tl.float32)
    tl.store(y_ptr + row * stride + cols, h * inv * w, mask=m)


def add_rmsnorm(x, residual, weight, eps=1e-6):
    """Returns the normalised sum; residual is updated in place."""
    assert x.is_cuda and x.is_contiguous() and residual.is_contiguous()
    assert x.shape == residual.shape and x.device == residual.device == weight.device
    n = x.shape[-1]
    rows = x.numel() // n
    y = torch.empty_like(x)
    block = triton.next_power_of_2(n)
    warps = min(max(block // 256, 1), 16)
    with torch.cuda.device(x.device):
        _add_rmsnorm[(rows,)](x, residual, weight, y, n, n, eps,
                              BLOCK=block, num_warps=warps)
    return y


class AddRMSNorm(torch.nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x, residual):
        return add_rmsnorm(x.contiguous(), residual, self.weight, self.eps)
