"""Programs over the model: ``cu = drive(Model())``, then ``stream = cu.cuStreamCreate(0)``.

A call takes the parameters that the program fills in; what a driver would write is made up and returned. The model predicts
and observes it; ``cu.status`` is the likeliest status, ``cu.prediction`` all of it. Any call can be given its end:
``status=700`` (what the driver returned), ``died=True`` (it did not return).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from cuvet.catalog import EntryPoint, driver
from cuvet.catalog.roles import Kind, Verb
from cuvet.model import Call, Model, Outcome, Prediction

MADE = (Verb.CREATES, Verb.RETURNS, Verb.ALLOCATES)


class Drive:
    """Makes calls on one thread of one model."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.status = 0
        self.thread = 1
        self.call: Call | None = None
        self.prediction: Prediction | None = None
        self._handles = count(0x55550000, 0x100)
        self._addresses = 0x7F0000000000
        self._numbers = count(1)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        entry_point = driver()[name]
        return lambda *words, **how: self._make(entry_point, words, **how)

    @contextmanager
    def in_thread(self, number: int) -> Iterator[None]:
        """Calls within come from another thread."""
        before, self.thread = self.thread, number
        yield
        self.thread = before

    def setup(self) -> Drive:
        """cuInit, and the primary context of device 0 retained and current."""
        self.cuInit(0)
        self.cuDeviceGet(0)
        self.cuCtxSetCurrent(self.cuDevicePrimaryCtxRetain(0))
        return self

    def _make(
        self,
        entry_point: EntryPoint,
        words: tuple[Any, ...],
        *,
        status: int | None = None,
        died: bool = False,
        gives: int | None = None,
        hands_out: dict[str, list[int]] | None = None,
        pointers: tuple[int, ...] = (),
        context: int | None = None,
        per_thread: bool = False,
        attributes: bytes = b"",
        **call_fields: Any,
    ) -> Any:
        """``gives`` is the value that the driver writes first, e.g. a handle that it issues again; ``hands_out`` has, by parameter, the
        handles in the arrays that it writes; ``attributes`` are those of a launch."""
        given = iter(words)
        args, inputs = [], {}
        for index, parameter in enumerate(entry_point.parameters):
            word = 0 if parameter.out else next(given, 0)
            if isinstance(word, bytes):
                inputs[index], word = word, 0x1000 + index
            args.append(word)
        if attributes:
            inputs[len(args)] = attributes
        images = [entry_point.index[role.parameter] for role in entry_point.roles if role.verb is Verb.LOADS]
        image = inputs.get(images[0], b"") if images and status else b""
        call = Call(
            entry_point,
            tuple(args),
            thread=self.thread,
            number=next(self._numbers),
            inputs=inputs,
            pointers=pointers,
            context=context,
            per_thread=per_thread,
            image=image,
            image_readable=len(image),
            image_terminated=b"\0" in image,
            **call_fields,
        )
        self.call, self.prediction = call, self.model.predict(call)
        self.status = self.prediction.statuses[0] if status is None else status
        outputs = self._outputs(call, gives) if self.status == 0 and not died else {}
        arrays = {
            entry_point.index[name]: tuple((handle, 0) for handle in handles)
            for name, handles in (hands_out or {}).items()
        }
        self.model.observe(call, Outcome(None if died else self.status, outputs, handed_out=arrays))
        values = [outputs.get(index, 0) for index, parameter in enumerate(entry_point.parameters) if parameter.out]
        return None if not values else values[0] if len(values) == 1 else tuple(values)

    def _outputs(self, call: Call, gives: int | None) -> dict[int, int]:
        assert self.prediction is not None
        outputs = {}
        roles = {role.parameter: role for role in call.entry_point.roles if role.verb in MADE}
        for index, parameter in enumerate(call.entry_point.parameters):
            if not parameter.out:
                continue
            role = roles.get(parameter.name)
            if gives is not None:
                outputs[index], gives = gives, None
            elif index in self.prediction.outputs:
                outputs[index] = self.prediction.outputs[index]
            elif parameter.name == "pPitch":
                outputs[index] = -(-call.arg("WidthInBytes") // 512) * 512
            elif parameter.name == "phErrorNode":
                outputs[index] = 0
            elif role is not None and role.kind in (Kind.MEMORY, Kind.HOST_MEMORY):
                outputs[index] = self._address(1 << 26)
            else:
                outputs[index] = next(self._handles)
        return outputs

    def _address(self, size: int) -> int:
        self._addresses += size
        return self._addresses - size


def drive(model: Model | None = None) -> Drive:
    return Drive(Model(complete=True) if model is None else model)


def array(*handles: int) -> bytes:
    """As a call reads it."""
    return b"".join(handle.to_bytes(8, "little") for handle in handles)
