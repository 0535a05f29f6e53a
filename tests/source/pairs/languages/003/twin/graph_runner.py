import bisect
import logging

import torch

log = logging.getLogger("decode.graphs")

BATCH_SIZES = [1, 2, 4, 8, 16, 32]


class _Slot:
    __slots__ = ("graph", "tokens", "positions", "block_table", "logits")

    def __init__(self, bs, max_blocks, device):
        self.graph = None
        self.tokens = torch.zeros(bs, dtype=torch.long, device=device)
        self.positions = torch.zeros(bs, dtype=torch.long, device=device)
        self.block_table = torch.zeros(bs, max_blocks, dtype=torch.int32, device=device)
        self.logits = None


class DecodeGraphRunner:
    def __init__(self, model, max_blocks, device="cuda"):
        self.model = model
        self.max_blocks = max_blocks
        self.device = torch.device(device)
        self.slots = {}
        self._pool = None

    @torch.inference_mode()
    def capture(self):
        for bs in reversed(BATCH_SIZES):
            s = _Slot(bs, self.max_blocks, self.device)
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(2):
                    self.model(s.tokens, s.positions, s.block_table)
            torch.cuda.current_stream().wait_stream(side)
            torch.cuda.synchronize()

            s.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(s.graph, pool=self._pool):
                s.logits = self.model(s.tokens, s.positions, s.block_table)
            if self._pool is None:
                self._pool = s.graph.pool()
            self.slots[bs] = s
        log.info("captured %d decode graphs", len(self.slots))

    def can_run(self, n):
        return bool(self.slots) and n <= BATCH_SIZES[-1]

    @torch.inference_mode()
    def run(self, tokens, positions, block_table):
        n = tokens.shape[0]
        if not self.can_run(n):
            return self.model(tokens, positions, block_table)
        bs = BATCH_SIZES[bisect.bisect_left(BATCH_SIZES, n)]
        s = self.slots[bs]

        padded = torch.nn.functional.pad(positions, (0, bs - n))
        s.positions.copy_(padded)
        s.tokens[:n].copy_(tokens)
        s.tokens[n:].zero_()
        s.block_table[:n, : block_table.shape[1]].copy_(block_table)
        s.block_table[n:].zero_()

        s.graph.replay()
        return s.logits[:n].clone()
