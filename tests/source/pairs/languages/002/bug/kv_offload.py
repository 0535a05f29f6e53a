import os
import threading
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
import torch


@dataclass
class HostBlock:
    data: torch.Tensor
    ready: torch.cuda.Event


class KVOffloader:
    """Moves cold KV blocks to host memory, and from there to a spill file."""

    def __init__(self, block_shape, dtype, spill_dir, max_host_blocks=256):
        self.block_shape = tuple(block_shape)
        self.dtype = dtype
        self.spill_dir = spill_dir
        self.max_host_blocks = max_host_blocks
        self.out_stream = torch.cuda.Stream()
        self._host = OrderedDict()
        self._free = []
        self._lock = threading.Lock()
        os.makedirs(spill_dir, exist_ok=True)

    def _path(self, key):
        return os.path.join(self.spill_dir, f"{key:016x}.kv")

    def _staging(self):
        if self._free:
            return self._free.pop()
        return torch.empty(self.block_shape, dtype=self.dtype, pin_memory=True)

    def offload(self, key, block):
        with self._lock:
            host = self._staging()
            ready = torch.cuda.Event()
            self.out_stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self.out_stream):
                host.copy_(block, non_blocking=True)
                ready.record()
            block.record_stream(self.out_stream)
            self._host[key] = HostBlock(host, ready)
            while len(self._host) > self.max_host_blocks:
                self._spill_one()

    def _spill_one(self):
        key, hb = self._host.popitem(last=False)
        raw = hb.data.view(torch.uint8).numpy()
        raw.tofile(self._path(key))
        self._free.append(hb.data)

    def spill_all(self):
        with self._lock:
            while self._host:
                self._spill_one()

    def fetch(self, key, out):
        with self._lock:
            hb = self._host.pop(key, None)
            if hb is not None:
                torch.cuda.current_stream().wait_event(hb.ready)
                out.copy_(hb.data, non_blocking=True)
                torch.cuda.current_stream().synchronize()
                self._free.append(hb.data)
                return out
        raw = np.fromfile(self._path(key), dtype=np.uint8)
        host = torch.from_numpy(raw).view(self.dtype).view(self.block_shape)
        out.copy_(host)
        os.unlink(self._path(key))
        return out
