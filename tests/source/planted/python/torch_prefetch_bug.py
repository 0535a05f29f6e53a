import torch


class Prefetcher:
    def __init__(self, loader, device):
        self.loader = iter(loader)
        self.device = device
        self.stream = torch.cuda.Stream(device)
        self.images = None
        self.labels = None
        self.preload()

    def preload(self):
        try:
            images, labels = next(self.loader)
        except StopIteration:
            self.images = None
            self.labels = None
            return
        with torch.cuda.stream(self.stream):
            self.images = images.to(self.device, non_blocking=True).float().div_(255)
            self.labels = labels.to(self.device, non_blocking=True)

    def next(self):
        images, labels = self.images, self.labels
        if images is not None:
            images.record_stream(torch.cuda.current_stream(self.device))
            labels.record_stream(torch.cuda.current_stream(self.device))
        self.preload()
        return images, labels
