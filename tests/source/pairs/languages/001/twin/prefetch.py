import torch


class DevicePrefetcher:
    """Keeps one batch ahead of the training loop on its own stream."""

    def __init__(self, loader, device, mean, std):
        self.loader = loader
        self.device = torch.device(device)
        self._stream = torch.cuda.Stream(self.device)
        self._mean = torch.tensor(mean, device=self.device).view(1, -1, 1, 1)
        self._inv_std = 1.0 / torch.tensor(std, device=self.device).view(1, -1, 1, 1)
        torch.cuda.synchronize(self.device)
        self._it = None
        self._pending = None

    def __len__(self):
        return len(self.loader)

    def __iter__(self):
        self._it = iter(self.loader)
        self._stage()
        return self

    def _stage(self):
        try:
            scan, mask = next(self._it)
        except StopIteration:
            self._pending = None
            return
        with torch.cuda.stream(self._stream):
            scan = scan.to(self.device, non_blocking=True)
            mask = mask.to(self.device, non_blocking=True)
            scan = scan.float().sub_(self._mean).mul_(self._inv_std)
            self._pending = (scan, mask.long())

    def __next__(self):
        cur = torch.cuda.current_stream(self.device)
        cur.wait_stream(self._stream)
        batch = self._pending
        if batch is None:
            raise StopIteration
        for t in batch:
            t.record_stream(cur)
        self._stage()
        return batch
