import torch
import torch.distributed as dist


class Bucket:
    """Flat staging area for the gradients of a few parameters."""

    def __init__(self, params):
        self.params = params
        p = params[0]
        self.flat = torch.zeros(
            sum(q.numel() for q in params), dtype=p.dtype, device=p.device
        )
        self.views = []
        at = 0
        for q in params:
            self.views.append(self.flat[at : at + q.numel()].view_as(q))
            at += q.numel()
        self.missing = len(params)
        self.work = None

    def put(self, i):
        self.views[i].copy_(self.params[i].grad)
        self.missing -= 1
        if self.missing == 0:
            self.work = dist.all_reduce(self.flat, async_op=True)

    def take(self, scale):
        if self.work is None:
            raise RuntimeError("bucket incomplete: unused parameters?")
        self.flat.mul_(scale)
        for q, v in zip(self.params, self.views):
            q.grad.copy_(v)
        self.missing = len(self.params)
        self.work = None


def make_buckets(params, cap=25 << 20):
    out, cur, size = [], [], 0
    for p in reversed(list(params)):
        if not p.requires_grad:
            continue
        nbytes = p.numel() * p.element_size()
        if cur and (size + nbytes > cap or p.dtype != cur[0].dtype):
            out.append(Bucket(cur))
            cur, size = [], 0
        cur.append(p)
        size += nbytes
    if cur:
        out.append(Bucket(cur))
    return out
