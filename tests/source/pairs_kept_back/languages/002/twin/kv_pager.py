from collections import OrderedDict, deque

import torch


class KVPager:
    """Moves key/value pages of idle sequences to pinned memory and back."""

    def __init__(self, device, max_pages, page_shape, dtype=torch.float16):
        self.device = torch.device(device)
        self.copy_stream = torch.cuda.Stream(device=self.device)
        self.host = torch.empty(
            (max_pages, *page_shape), dtype=dtype, pin_memory=True
        )
        self._free = deque(range(max_pages))
        self._slots = {}

    def has_room(self):
        return bool(self._free)

    def __contains__(self, seq_id):
        return seq_id in self._slots

    def page_out(self, seq_id, kv):
        if kv.shape != self.host.shape[1:]:
            raise ValueError(f"page shape {tuple(kv.shape)}")
        slot = self._free.popleft()
        self.copy_stream.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(self.copy_stream):
            self.host[slot].copy_(kv, non_blocking=True)
        kv.record_stream(self.copy_stream)
        self._slots[seq_id] = slot

    def page_in(self, seq_id):
        slot = self._slots.pop(seq_id)
        cur = torch.cuda.current_stream(self.device)
        with torch.cuda.stream(self.copy_stream):
            kv = self.host[slot].to(self.device, non_blocking=True)
        cur.wait_stream(self.copy_stream)
        kv.record_stream(cur)
        self._free.append(slot)
        return kv

    def drop(self, seq_id):
        slot = self._slots.pop(seq_id, None)
        if slot is not None:
            self._free.append(slot)


class Scheduler:
    def __init__(self, model, pager, budget):
        self.model = model
        self.pager = pager
        self.budget = budget
        self.live = OrderedDict()

    def _make_room(self):
        while len(self.live) >= self.budget:
            victim = next(iter(self.live))
            if not self.pager.has_room():
                raise RuntimeError("host page pool exhausted")
            self.pager.page_out(victim, self.live.pop(victim))

    def admit(self, seq_id, prompt):
        self._make_room()
        self.live[seq_id] = self.model.prefill(prompt)

    def step(self, seq_id, token):
        if seq_id not in self.live:
            self._make_room()
            self.live[seq_id] = self.pager.page_in(seq_id)
        self.live.move_to_end(seq_id)
        return self.model.decode(token, self.live[seq_id])

    def finish(self, seq_id):
        if self.live.pop(seq_id, None) is None:
            self.pager.drop(seq_id)
