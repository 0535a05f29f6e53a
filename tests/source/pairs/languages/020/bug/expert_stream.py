import torch
import torch.nn.functional as F


class HostExpert:
    """FFN weights of one expert, resident in pinned host memory."""

    def __init__(self, w_in, w_out):
        self.w_in = w_in.contiguous().pin_memory()
        self.w_out = w_out.contiguous().pin_memory()


class _Upload:
    __slots__ = ("w_in", "w_out", "done")


class ExpertStreamer:
    def __init__(self, experts, device, ahead=2):
        self.experts = experts
        self.device = torch.device(device)
        self.ahead = ahead
        self.copy_stream = torch.cuda.Stream(self.device)

    def _upload(self, idx):
        e = self.experts[idx]
        u = _Upload()
        u.done = torch.cuda.Event()
        with torch.cuda.stream(self.copy_stream):
            u.w_in = e.w_in.to(self.device, non_blocking=True)
            u.w_out = e.w_out.to(self.device, non_blocking=True)
            u.done.record(self.copy_stream)
        return u

    @torch.inference_mode()
    def forward(self, x, gate):
        """x: [T, D], gate: [T, E] routing weights, zero where not routed."""
        y = torch.zeros_like(x)
        used = torch.nonzero(gate.sum(0) > 0).flatten().tolist()
        compute = torch.cuda.current_stream(self.device)
        pending = [self._upload(i) for i in used[: self.ahead]]
        for k, idx in enumerate(used):
            u = pending.pop(0)
            compute.wait_event(u.done)
            rows = torch.nonzero(gate[:, idx] > 0).flatten()
            h = F.gelu(x.index_select(0, rows) @ u.w_in.t())
            out = (h @ u.w_out.t()) * gate[rows, idx].unsqueeze(1)
            y.index_add_(0, rows, out)
            del u
            if k + self.ahead < len(used):
                pending.append(self._upload(used[k + self.ahead]))
        return y


class OffloadedMoE(torch.nn.Module):
    def __init__(self, router, experts, device, top_k=2):
        super().__init__()
        self.router = router.to(device)
        self.top_k = top_k
        self.streamer = ExpertStreamer(experts, device)

    def forward(self, x):
        logits = self.router(x)
        top, idx = logits.topk(self.top_k, dim=-1)
        gate = torch.zeros_like(logits).scatter_(1, idx, top.softmax(-1))
        return self.streamer.forward(x, gate)
