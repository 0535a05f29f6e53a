"""Compare the model's order of work with what a GPU did: ``prove_order.py RECORDING TIMES``.

RECORDING is of ``tests/hardware/order.cu`` under ``cuvet run --races``, TIMES the file that it wrote. For each kind of edge the
table says of how many pairs of kernels the model knows that the first ran before the second, and in how many the second began before
the first had ended (there must be none); and of how many pairs it claims no order, and how many of these overlapped or ran the other
way round.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

from cuvet.analysis import process
from cuvet.analysis.folding import Findings
from cuvet.analysis.process import ProcessAnalysis
from cuvet.catalog.roles import Kind, Verb
from cuvet.model import Call, Model, Stream
from cuvet.model.order import Order
from cuvet.recording import Recording
from cuvet.recording.generated_code import GeneratedCode

Times = list[tuple[int, int, int]]
"""Program, begin and end of each kernel, in the order of their launches."""


class Watching(Order):
    """Notes how each launch is ordered after the earlier ones of its program."""

    def __init__(self, times: Times) -> None:
        super().__init__(complete=True)
        self.pairs: Counter[tuple[str, bool]] = Counter()
        """Kind of edge, and whether the second began before the first had ended; for pairs without an edge, whether they overlapped or ran
        the other way round."""
        self.worst: Counter[str] = Counter()
        """Nanoseconds by which the second was seen to begin before the end of the first, at most."""
        self._times = times
        self._launched: list[tuple[tuple[int, int], Stream]] = []

    def enqueue(self, call: Call, stream: Stream) -> None:
        launches = call.entry_point.does(Verb.LAUNCHES, to=(Kind.FUNCTION, Kind.KERNEL))
        if launches:
            self._compare(stream)
        super().enqueue(call, stream)
        if launches and call.position is not None:
            self._launched.append((call.position, stream))

    def _compare(self, stream: Stream) -> None:
        program, begin, _ = self._times[len(self._launched)]
        for index in range(len(self._launched) - 1, -1, -1):
            other_program, _, other_end = self._times[index]
            if other_program != program:
                return
            position, other = self._launched[index]
            edge = self._edge(position, other, stream)
            self.pairs[edge, begin < other_end] += 1
            if not edge.startswith("none"):
                self.worst[edge] = max(self.worst[edge], other_end - begin)

    def _edge(self, position: tuple[int, int], other: Stream, stream: Stream) -> str:
        if other is stream:
            return "same stream"
        if self.is_done(position):
            return "the host waited"
        ordered = self.is_before(position, stream)
        if other.legacy or stream.legacy:
            return "legacy default stream" if ordered else "none, legacy and non-blocking stream"
        return "events" if ordered else "none"


class Proof(ProcessAnalysis):
    """The analysis, with an order that watches."""

    times: Times

    def _first_model(self) -> Model | None:
        model = super()._first_model()
        if model is not None:
            model.order = Watching(self.times)
        return model


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("recording", type=Path, help="directory of the recording")
    parser.add_argument("times", type=Path, help="what the program wrote")
    args = parser.parse_args()
    process.LEAVE_OUT_REPEATS = False
    (file,) = args.recording.glob("*.cuvet")
    recording = Recording(file)
    proof = Proof(recording, Findings(), lambda _: None, GeneratedCode(recording, None))
    lines = [list(map(int, line.split())) for line in args.times.read_text().splitlines()]
    proof.times = [(program, begin, end) for program, _, begin, end in lines]
    proof.advance(running=False)
    assert proof.model is not None
    assert isinstance(proof.model.order, Watching)
    pairs = proof.model.order.pairs
    rows = {
        edge: {
            "pairs": pairs[edge, False] + pairs[edge, True],
            "not one after the other": pairs[edge, True],
            "by ns at most": proof.model.order.worst[edge],
        }
        for edge in sorted({edge for edge, _ in pairs})
    }
    print(json.dumps(rows, indent=1))
    return int(any(row["not one after the other"] for edge, row in rows.items() if not edge.startswith("none")))


if __name__ == "__main__":
    raise SystemExit(main())
