"""Loader glue for the video super-resolution trainer."""
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader


class CudaPrefetcher:
    """Keeps one batch ahead of the training step."""

    def __init__(self, loader, device, mean, std):
        self.loader = loader
        self.device = torch.device(device)
        self.stream = torch.cuda.Stream(device=self.device)
        self.mean = torch.tensor(mean, device=self.device).view(1, 3, 1, 1)
        self.std = torch.tensor(std, device=self.device).view(1, 3, 1, 1)
        self._it = None
        self._ahead = None

    def __len__(self):
        return len(self.loader)

    def _preload(self):
        try:
            lr, hr = next(self._it)
        except StopIteration:
            self._ahead = None
            return
        with torch.cuda.stream(self.stream):
            lr = lr.to(self.device, non_blocking=True)
            hr = hr.to(self.device, non_blocking=True)
            lr = lr.float().div_(255.0).sub_(self.mean).div_(self.std)
            hr = hr.float().div_(255.0)
            self._ahead = (lr, hr)

    def __iter__(self):
        self._it = iter(self.loader)
        self._preload()
        while self._ahead is not None:
            cur = torch.cuda.current_stream(self.device)
            cur.wait_stream(self.stream)
            lr, hr = self._ahead
            lr.record_stream(cur)
            hr.record_stream(cur)
            self._preload()
            yield lr, hr


def charbonnier(x, y, eps=1e-3):
    return torch.sqrt((x - y) ** 2 + eps * eps).mean()


def fit(net, dataset, cfg):
    dev = torch.device("cuda", cfg.gpu)
    torch.cuda.set_device(dev)
    net = net.to(dev)
    opt = torch.optim.AdamW(net.parameters(), lr=cfg.lr)
    loader = DataLoader(
        dataset,
        batch_size=cfg.batch,
        shuffle=True,
        drop_last=True,
        num_workers=cfg.workers,
        pin_memory=True,
    )
    feed = CudaPrefetcher(loader, dev, cfg.mean, cfg.std)
    for epoch in range(cfg.epochs):
        total = torch.zeros((), device=dev)
        for lr, hr in feed:
            opt.zero_grad(set_to_none=True)
            up = net(lr)
            if up.shape[-2:] != hr.shape[-2:]:
                up = F.interpolate(up, size=hr.shape[-2:], mode="bicubic")
            loss = charbonnier(up, hr)
            loss.backward()
            opt.step()
            total += loss.detach()
        print(f"epoch {epoch}: {total.item() / max(1, len(feed)):.5f}")
    return net
