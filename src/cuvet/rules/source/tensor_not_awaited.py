from cuvet.rules.rule import SourceRule


class SourceTensorNotAwaited(SourceRule):
    """
    checks: A tensor of PyTorch is copied to the CPU with ``non_blocking=True``, by ``to`` or by ``copy_`` into pinned memory, and the
      host reads it before anything that may wait for the copy. Or a tensor in pinned memory is copied to the GPU with
      ``non_blocking=True``, and the host writes it before that. Or a tensor is made under ``with torch.cuda.stream(s)``, and an operator or
      a function of ``torch`` behind the block, which runs on another stream, uses it before anything that may wait. Or another method uses
      a member that the block sets, and no method of the class ever waits.
    why: The call returns before the copy is done. The host reads old values, or the copy takes what the host wrote later.
    instead: Call ``torch.cuda.synchronize()``, or record an event behind the copy and wait for it with ``event.synchronize()``.
    limits: Only in the statements of one function that follow the copy, and in the next turn of a loop over ``range``, up to the first call
      that is not known to wait for nothing, or what may ask a tensor of the GPU for its value: a condition, a text, an iteration.
      ``numpy()`` reads nothing by itself. What may be written by the GPU, in the order of the
      stream, is not judged: ``copy_`` from a tensor of which it is not known that it is the CPU's.
    """

    code = "CV874"
    severity = "note"
    summary = "the host uses a tensor while it is copied"
    help = "wait for the copy before the host uses the tensor: torch.cuda.synchronize(), or an event"
    evidence = """
    documented: without explicit synchronization, transfers from GPU to CPU offer no assurance that the copy will be complete
      at the time of data access (PyTorch Tutorials, A guide on good usage of non_blocking and pin_memory(), Other copy directions)
    documented: when a non-default stream is used, it is the user's responsibility to ensure proper synchronization (PyTorch
      documentation, CUDA semantics, CUDA streams)
    documented: cudaMemcpyAsync is asynchronous with respect to the host, so the call may return before the copy is
      complete (CUDA Runtime API, Memory Management, cudaMemcpyAsync)
    """
    VALID = """
## made on a stream for which the other one waits [python]
import torch

def add(one, two, stream):
    with torch.cuda.stream(stream):
        copy = one.cuda(non_blocking=True)
    torch.cuda.current_stream().wait_stream(stream)
    return copy + two

## used on its own stream, or given away [python]
import torch

def add(one, two, stream):
    with torch.cuda.stream(stream):
        copy = one.cuda(non_blocking=True)
        copy = copy + two
    if copy is None:
        return None
    return copy

## waited for [python]
import torch

def total(values):
    host = values.to("cpu", non_blocking=True)
    torch.cuda.synchronize()
    return host.sum().item()

## waited for with an event [python]
import torch

def total(values):
    host = values.to("cpu", non_blocking=True)
    done = torch.cuda.Event()
    done.record()
    done.synchronize()
    return host.tolist()

## a function that may wait [python]
import torch

def total(values, queue):
    host = values.to("cpu", non_blocking=True)
    queue.flush()
    return host.tolist()

## an array of the tensor's memory reads nothing yet [python]
import torch

def fetch(values):
    host = values.to("cpu", non_blocking=True)
    array = host.numpy()
    torch.cuda.synchronize()
    return array.sum()

## a copy that blocks [python]
import torch

def total(values):
    host = values.to("cpu")
    return host.tolist()

## the pinned tensor is filled before each copy, and waited for [python]
import torch

def feed(device, steps):
    staging = torch.empty(1024, pin_memory=True)
    for step in range(steps):
        staging.fill_(step)
        values = staging.to(device, non_blocking=True)
        torch.cuda.synchronize()

## the tensor is not pinned [python]
note: the copy takes its data at the call
import torch

def feed(device, steps):
    staging = torch.empty(1024)
    for step in range(steps):
        staging.fill_(step)
        values = staging.to(device, non_blocking=True)

## written by the GPU in the order of the stream [python]
import torch

def swap(one, two):
    staging = torch.empty(1024, pin_memory=True)
    one.copy_(staging, non_blocking=True)
    staging.copy_(two, non_blocking=True)
    torch.cuda.synchronize()

## a new tensor for each turn [python]
import torch

def feed(device, steps):
    for step in range(steps):
        staging = torch.empty(1024, pin_memory=True)
        staging.fill_(step)
        values = staging.to(device, non_blocking=True)

## a value of the GPU is read before [python]
import torch

def total(values, loss):
    host = values.to("cpu", non_blocking=True)
    print(loss.item())
    return host.tolist()

## a tensor of the GPU is printed before [python]
import torch

def total(values, loss):
    host = values.to("cpu", non_blocking=True)
    print(loss, host)
    return host.tolist()

## a condition may be a tensor of the GPU [python]
import torch

def total(values, found):
    host = values.to("cpu", non_blocking=True)
    if found:
        return host.tolist()

## text with a tensor of the GPU [python]
import torch

def total(values, loss):
    host = values.to("cpu", non_blocking=True)
    text = f"{loss}"
    return text, host.tolist()

## an object that may wait is entered [python]
import torch

def total(values, pool):
    host = values.to("cpu", non_blocking=True)
    with pool.lease():
        return host.tolist()

## an iterator may wait [python]
import torch

async def total(values, queue):
    host = values.to("cpu", non_blocking=True)
    async for each in queue:
        return host.tolist()

## it is not known what is recorded [python]
import torch

def total(values, profiler):
    host = values.to("cpu", non_blocking=True)
    profiler.record("copied")
    return host.tolist()

## it is not known what is appended to [python]
import torch

def total(values, results):
    host = values.to("cpu", non_blocking=True)
    results.append(host)
    return host.tolist()

## another tensor of the name [python]
import torch

def total(values, other):
    host = values.to("cpu", non_blocking=True)
    host, count = other, 1
    return host.tolist()

## another tensor of the name in each turn [python]
import torch

def total(values):
    host = values.to("cpu", non_blocking=True)
    for host in range(4):
        print(host)

## a function that is defined runs later [python]
import torch

def total(values):
    host = values.to("cpu", non_blocking=True)
    def result():
        return host.tolist()
    return result

## the tensor goes to no GPU [python]
import torch

def convert():
    staging = torch.zeros(1024).pin_memory()
    half = staging.to(torch.float16, non_blocking=True)
    staging[0] = 1
    same = staging.to(device="cpu", non_blocking=True)
    staging[1] = 1
    return half, same

## the other tensor is on the CPU too [python]
import torch

def copy():
    staging = torch.zeros(1024).pin_memory()
    plain = torch.empty(1024)
    plain.copy_(staging, non_blocking=True)
    staging[0] = 1
    return plain

## copied in the last turn [python]
import torch

def feed(device, steps):
    staging = torch.empty(1024, pin_memory=True)
    for step in range(steps):
        staging[0] = 1
        if step == steps - 1:
            values = staging.to(device, non_blocking=True)

## a class whose other method waits for the stream [python]
import torch

class Feeder:
    def __init__(self):
        self.copies = torch.cuda.Stream()
        self.image = None

    def load(self, image):
        with torch.cuda.stream(self.copies):
            self.image = image.cuda(non_blocking=True)

    def get(self):
        torch.cuda.current_stream().wait_stream(self.copies)
        self.image.record_stream(torch.cuda.current_stream())
        return self.image

## a class that gives its stream to others [python]
import torch

class Feeder:
    def __init__(self):
        self.copies = torch.cuda.Stream()
        self.image = None

    def load(self, image):
        with torch.cuda.stream(self.copies):
            self.image = image.cuda(non_blocking=True)

    def stream(self):
        return self.copies

    def get(self):
        return self.image

## a class that uses the member on its stream alone [python]
import torch

class Feeder:
    def __init__(self):
        self.copies = torch.cuda.Stream()
        self.image = None

    def load(self, image):
        with torch.cuda.stream(self.copies):
            self.image = image.cuda(non_blocking=True)

    def scale(self, factor):
        with torch.cuda.stream(self.copies):
            self.image.mul_(factor)
"""
    INVALID = """
## made on a stream for which nothing waits [python]
import torch

def add(one, two, stream):
    with torch.cuda.stream(stream):
        copy = one.cuda(non_blocking=True)
    return copy + two  # note: [source-tensor-not-awaited]

## read too early [python]
import torch

def total(values):
    host = values.to("cpu", non_blocking=True)
    return host.sum().item()  # note: [source-tensor-not-awaited]

## printed too early [python]
import torch

def show(values):
    host = values.to(device="cpu", non_blocking=True)
    count = len(values)
    print(count, host)  # note: [source-tensor-not-awaited]

## the event is recorded, and not waited for [python]
import torch

def total(values):
    host = values.to("cpu", non_blocking=True)
    done = torch.cuda.Event()
    done.record()
    return [each * 2 for each in host.tolist()]  # note: [source-tensor-not-awaited]

## the pinned tensor is filled again in the next turn [python]
import torch

def feed(device, steps):
    staging = torch.empty(1024, pin_memory=True)
    for step in range(steps):
        staging.fill_(step)  # note: [source-tensor-not-awaited]
        values = staging.to(device, non_blocking=True)

## the pinned tensor is written after the copy [python]
import torch

def feed(values):
    staging = torch.zeros(1024).pin_memory()
    values.copy_(staging, non_blocking=True)
    staging[0] = 1  # note: [source-tensor-not-awaited]
    torch.cuda.synchronize()

## no method of the class ever waits [python]
import torch

class Feeder:
    def __init__(self):
        self.copies = torch.cuda.Stream()
        self.pair = None

    def load(self, image, label):
        with torch.cuda.stream(self.copies):
            image = image.cuda(non_blocking=True)
            self.pair = (image.float(), label)

    def get(self):
        return self.pair  # note: [source-tensor-not-awaited]

## it is recorded for another stream, which does not wait [python]
import torch

class Feeder:
    def __init__(self):
        self.copies = torch.cuda.Stream()
        self.image = None

    def load(self, image):
        with torch.cuda.stream(self.copies):
            self.image = image.cuda(non_blocking=True)

    def get(self):
        image = self.image  # note: [source-tensor-not-awaited]
        image.record_stream(torch.cuda.current_stream())
        return image
"""
