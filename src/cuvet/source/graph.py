"""Builds the blocks of a function while its statements are read in order."""

from cuvet.source.calls import symbols
from cuvet.source.program import Block, Condition, Edge, Invoke, Operation


class Builder:
    """``current`` is the block that the next operation goes to; -1 where nothing can be reached."""

    def __init__(self) -> None:
        self.blocks: list[Block] = [Block()]
        self.current = 0
        self.last_decision = 0
        self._guards: tuple[tuple[int, int], ...] = ()
        self._outer: list[tuple[tuple[int, int], ...]] = []
        """The guards around, for each block that was entered and not left."""
        self._ways: dict[int, list[tuple[tuple[int, int], ...]]] = {}
        """By block, the branches that lead to it, each after those around it."""
        self._reached: set[int] = set()
        self._afters: set[int] = set()
        """Blocks that follow a loop."""
        self._labels: dict[str, int] = {}
        self.labels_set: list[str] = []
        """The labels that were reached in the text."""

    def new(self) -> int:
        self.blocks.append(Block(guards=self._guards))
        return len(self.blocks) - 1

    def start(self, block: int) -> None:
        self.current = block

    def reach(self, block: int) -> None:
        """Go on in the block if something leads to it so far."""
        self.current = block if block in self._reached else -1

    def stop(self) -> None:
        """What follows cannot be reached from here."""
        self.current = -1

    def add(self, operation: Operation) -> None:
        if self.current >= 0:
            self.blocks[self.current].operations.append(operation)

    def split(self, at: int) -> int:
        """A new block, to which nothing leads yet, gets the operations of the current one from the index ``at`` on."""
        rest, operations = self.new(), self.blocks[self.current].operations
        self.blocks[rest].operations, operations[at:] = operations[at:], []
        return rest

    def edge(self, source: int, target: int, kind: str = "") -> None:
        self.blocks[source].edges.append(Edge(target, kind=kind))
        self._reached.add(target)

    def jump(self, target: int, kind: str = "") -> None:
        if self.current >= 0:
            self.edge(self.current, target, kind)

    def branch(self, condition: Condition | None, yes: int, no: int, truth: bool = True) -> None:
        """Leave the block for one of two: for ``yes`` if the condition is ``truth``. None: always ``yes``. The arm that ends a loop comes
        last."""
        if self.current < 0:
            return
        self.last_decision = self.current
        block = self.blocks[self.current]
        arms = [Edge(yes, condition, truth), *([Edge(no, condition, not truth)] if condition is not None else [])]
        for edge in arms[::-1] if yes in self._afters else arms:
            way = (*block.guards, (self.current, len(block.edges)))
            self._ways.setdefault(edge.target, []).append(way)
            block.edges.append(edge)
            self._reached.add(edge.target)

    def ends_loop(self, block: int) -> None:
        """A loop goes there when it ends."""
        self._afters.add(block)

    def go_on(self, block: int) -> None:
        """The next condition of several is asked in the block: within the arm that leads there, if one does."""
        ways = self._ways.get(block, ())
        if len(ways) == 1:
            self.blocks[block].guards = ways[0]
        self.current = block

    def enter(self, block: int, decided: int, arm: int) -> None:
        """Go on in a block that the decision of ``decided`` leads to: by its edge ``arm``, or by another if it was negated."""
        arm = next((at for at, edge in enumerate(self.blocks[decided].edges) if edge.target == block), arm)
        ways = self._ways.get(block, ())
        self._outer.append(self._guards)
        self._guards = ways[0] if len(ways) == 1 else (*self._guards, (decided, arm))
        self.blocks[block].guards = self._guards
        self.reach(block)

    def leave(self) -> None:
        self._guards = self._outer.pop()

    def label(self, name: str) -> int:
        if name not in self._labels:
            self.blocks.append(Block())
            self._labels[name] = len(self.blocks) - 1
        return self._labels[name]

    def set_label(self, name: str) -> None:
        """The label stands here."""
        label = self.label(name)
        self.labels_set.append(name)
        self.jump(label)
        self.start(label)

    @property
    def labels(self) -> frozenset[int]:
        """The blocks that begin at a label, or would if it were set."""
        return frozenset(self._labels.values())

    def forget_labels(self, since: int) -> None:
        """Those that were set since ``labels_set`` was that long stand in another arm of #if, which may have the same ones."""
        for name in self.labels_set[since:]:
            self._labels.pop(name, None)

    def is_cuda_result(self, before: int) -> bool:
        """Whether a call of CUDA since temporary ``before`` gave a result."""
        return self._newest(before) is not None

    def check(self, before: int) -> None:
        """What looks at results looks at those made since temporary ``before``."""
        call = self._newest(before)
        if call is not None:
            call.checked = True

    def _newest(self, before: int) -> Invoke | None:
        if self.current < 0:
            return None
        for operation in reversed(self.blocks[self.current].operations):
            if (
                isinstance(operation, Invoke)
                and operation.result
                and int(operation.result[1:]) > before
                and operation.name in symbols()
            ):
                return operation
        return None

    def finish(self) -> list[Block]:
        """The blocks, with decisions that lead to the same block taken out."""
        while self._simplify():
            pass
        return self.blocks

    def _simplify(self) -> bool:
        changed = False
        for block in self.blocks:
            for edge in block.edges:
                target = self.blocks[edge.target]
                seen = 0
                while not target.operations and len(target.edges) == 1 and edge.kind != "back" and seen < 100:
                    onward = target.edges[0]
                    if onward.target == edge.target or (onward.kind == "back") or (edge.kind and onward.kind):
                        break
                    edge.target, edge.kind = onward.target, edge.kind or onward.kind
                    target, changed, seen = self.blocks[edge.target], True, seen + 1
            if len(block.edges) > 1 and len({edge.target for edge in block.edges}) == 1:
                block.edges[:] = [Edge(block.edges[0].target, kind=block.edges[0].kind)]
                changed = True
        return changed
