from cuvet.rules.rule import SourceRule


class SourceTensorFreedInUse(SourceRule):
    """
    checks: In PyTorch, a tensor of the GPU is made under ``with torch.cuda.stream(s)``, the current stream waits for ``s`` and uses it, and
      the file neither calls ``record_stream`` nor lets ``s`` wait for other streams.
    why: When the tensor goes, its memory is free for the next tensor of ``s`` at once, while the current stream may still read it. The next
      copy on ``s`` then overwrites what a kernel reads.
    instead: Call ``tensor.record_stream(torch.cuda.current_stream())`` before the use. Or call
      ``s.wait_stream(torch.cuda.current_stream())`` before ``s`` makes the next tensor.
    limits: Members of a class, and variables of a function that makes them in a loop. Silent about classes and functions that call
      ``synchronize``: the host may wait at the right place.
    """

    code = "CV880"
    severity = "note"
    summary = "the memory of a tensor may be taken by its stream while another stream uses it"
    help = "call record_stream of the tensor for the stream that uses it"
    evidence = """
    documented: the caching allocator is aware of only the stream where a tensor was allocated; if a tensor is used on a different
      stream, the allocator might reuse the memory unexpectedly (PyTorch documentation, torch.Tensor.record_stream)
    reported: tensors of a prefetcher were not recorded for the stream that uses them (https://github.com/NVIDIA/apex/commit/d5e2bb4b)
    """
    VALID = """
## recorded [python]
import torch

class Prefetcher:
    def __init__(self, loader):
        self.loader = iter(loader)
        self.stream = torch.cuda.Stream()
        self.preload()

    def preload(self):
        batch = next(self.loader)
        with torch.cuda.stream(self.stream):
            self.batch = batch.cuda(non_blocking=True)

    def next(self):
        torch.cuda.current_stream().wait_stream(self.stream)
        batch = self.batch
        batch.record_stream(torch.cuda.current_stream())
        self.preload()
        return batch

## the stream waits before it makes the next one [python]
import torch

class Prefetcher:
    def __init__(self, loader):
        self.loader = iter(loader)
        self.stream = torch.cuda.Stream()
        self.preload()

    def preload(self):
        batch = next(self.loader)
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            self.batch = batch.cuda(non_blocking=True)

    def next(self):
        torch.cuda.current_stream().wait_stream(self.stream)
        batch = self.batch
        self.preload()
        return batch

## made once on the current stream, and filled by the other [python]
import torch

class Prefetcher:
    def __init__(self, loader, like):
        self.loader = iter(loader)
        self.stream = torch.cuda.Stream()
        self.batch = torch.empty_like(like, device="cuda")

    def preload(self):
        batch = next(self.loader)
        with torch.cuda.stream(self.stream):
            self.batch.copy_(batch, non_blocking=True)

    def next(self):
        torch.cuda.current_stream().wait_stream(self.stream)
        return self.batch

## what the stream does not make [python]
import torch

class Prefetcher:
    def preload(self):
        with torch.cuda.stream(self.stream):
            self.batch = self.batches.get()

    def next(self):
        torch.cuda.current_stream().wait_stream(self.stream)
        batch = self.batch
        self.preload()
        return batch

## one tensor of the stream [python]
import torch

def load(values):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        copy = values.cuda(non_blocking=True)
    torch.cuda.current_stream().wait_stream(stream)
    return copy + 1

## the host waits [python]
import torch

def run(batches, model, stream):
    for batch in batches:
        with torch.cuda.stream(stream):
            copy = batch.cuda(non_blocking=True)
        torch.cuda.current_stream().wait_stream(stream)
        model(copy)
        torch.cuda.synchronize()
"""
    INVALID = """
## a prefetcher [python]
import torch

class Prefetcher:
    def __init__(self, loader):
        self.loader = iter(loader)
        self.stream = torch.cuda.Stream()
        self.preload()

    def preload(self):
        batch = next(self.loader)
        with torch.cuda.stream(self.stream):
            self.batch = batch.cuda(non_blocking=True)

    def next(self):
        torch.cuda.current_stream().wait_stream(self.stream)
        batch = self.batch  # note: [source-tensor-freed-in-use]
        self.preload()
        return batch

## the values of a dictionary [python]
import torch

class Prefetcher:
    def preload(self):
        self.batch = next(self.loader)
        with torch.cuda.stream(self.stream):
            for key in self.batch:
                self.batch[key] = self.batch[key].to(device=self.device, non_blocking=True)

    def next(self):
        torch.cuda.current_stream().wait_stream(self.stream)
        batch = self.batch  # note: [source-tensor-freed-in-use]
        self.preload()
        return batch

## in a loop [python]
import torch

def run(batches, model, stream):
    for batch in batches:
        with torch.cuda.stream(stream):
            copy = batch.cuda(non_blocking=True)
        torch.cuda.current_stream().wait_stream(stream)
        model(copy)  # note: [source-tensor-freed-in-use]
"""
