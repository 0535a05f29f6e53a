"""A process takes a CUDA tensor of another one over cudaIpc, changes it, and lets it go before its owner ends."""

import torch
import torch.multiprocessing as mp


def change(tensors: mp.Queue, done: mp.Queue) -> None:
    for tensor in iter(tensors.get, None):
        tensor.add_(1)
        torch.cuda.synchronize()
        del tensor
        done.put(True)


if __name__ == "__main__":
    context = mp.get_context("spawn")
    tensors, done = context.Queue(), context.Queue()
    other = context.Process(target=change, args=(tensors, done))
    other.start()
    mine = [torch.zeros(1024, device=f"cuda:{device}") for device in (0, 1)]
    for tensor in mine:
        tensors.put(tensor)
        done.get()
    tensors.put(None)
    other.join()
    print("sums", [tensor.sum().item() for tensor in mine], "exit code", other.exitcode)
