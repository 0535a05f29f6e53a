"""A recorded program as Python over ``cu``, as in ``cuvet.rules.programs``."""

from dataclasses import dataclass, field

from cuvet.catalog import Catalog, EntryPoint, Parameter, driver, status_name
from cuvet.conformance.compare import Disagreement
from cuvet.conformance.recording import Row
from cuvet.rules.programs import PTX
from cuvet.rules.rule import CRASH

_LEAST_ADDRESS, _HOST_BYTES = 1 << 16, 1 << 20
_FUNCTIONS = {"fn", "callback", "destroy"}
_ONE_THREAD = (1, 1, 1, 1, 1, 1, 0)


def python(found: Disagreement) -> str:
    """The calls up to the one at fault, and what was expected of it. Calls of other threads than the first are marked."""
    text = Text()
    lines = [text.line(row) for row in found.session.rows[: found.index + 1]]
    ended = CRASH if found.row.status is None else found.row.status
    told = " or ".join(map(_status, found.predicted)) or "nothing"
    differs = f"; outputs {found.outputs}, not {found.row.outputs}" if found.outputs else ""
    return "\n".join([*text.first.values(), *lines, f"# driver: {_status(ended)}; model: {told}{differs}"])


@dataclass
class Text:
    """``names`` of the words that calls have handed out; ``first``: lines that come before all others."""

    names: dict[int, str] = field(default_factory=dict)
    first: dict[str, str] = field(default_factory=dict)

    def line(self, row: Row) -> str:
        entry_point = driver()[row.name]
        call = f"cu.{row.name}({', '.join(self._arguments(row, entry_point))})"
        launch = tuple(row.args[1:8]) == _ONE_THREAD and row.name == "cuLaunchKernel"
        if launch:
            call = f"cu.launch({', '.join(self.word(word) for word in (row.args[0], row.args[8], *row.pointers))})"
        results = [self._result(entry_point, index, word) for index, word in row.outputs.items()]
        assigned = f"{', '.join(results)} = " if any(result != "_" for result in results) else ""
        notes = [f"thread {row.thread}"] if row.thread else []
        notes += [_status(row.status)] if row.status else []
        return f"{assigned}{call}{'  # ' if notes else ''}{', '.join(notes)}"

    def _arguments(self, row: Row, entry_point: EntryPoint) -> list[str]:
        given = []
        for index, parameter in enumerate(entry_point.parameters):
            if index in row.inputs:
                given.append(self._content(parameter, row.inputs[index]))
            elif row.image and entry_point.parameters[index].name in ("image", "code", "data"):
                given.append("cu.ptx" if row.image == PTX else repr(row.image))
            elif parameter.name == "kernelParams":
                given.append("0")
            elif not parameter.out:
                given.append(self.word(row.args[index], parameter))
        return given

    def _result(self, entry_point: EntryPoint, index: int, word: int) -> str:
        if word < _LEAST_ADDRESS:
            return "_"
        name = entry_point.parameters[index].name
        noun = next((role.kind.name.lower() for role in entry_point.roles if role.parameter == name), "value")
        known = noun != "none" and word not in self.names
        return self.names.setdefault(word, f"{noun}{len(self.names) + 1}" if known else f"value{len(self.names) + 1}")

    def word(self, word: int, parameter: Parameter | None = None) -> str:
        """A number, or what is known by that number; an address inside of something is written with its distance."""
        if word in self.names or word < _LEAST_ADDRESS:
            return self.names.get(word, str(word))
        if parameter is not None and parameter.name in _FUNCTIONS:
            value = "ctypes.cast(ctypes.CDLL(None).abs, ctypes.c_void_p).value"
            self.first["function"] = f"import ctypes\nfunction = {value}  # does nothing"
            return "function"
        base = max((known for known in self.names if known <= word < known + (1 << 24)), default=None)
        if base is not None:
            return f"{self.names[base]} + {word - base}"
        if parameter is None or not parameter.type.endswith("*"):
            return hex(word)
        name = f"host{len(self.first) + 1}"
        self.first[name] = f"{name} = cu.host({_HOST_BYTES})"
        self.names[word & ~(_HOST_BYTES - 1)] = name
        return self.word(word)

    def _content(self, parameter: Parameter, data: bytes) -> str:
        """The bytes that a parameter points to: a string, handles, a struct."""
        pointee = (parameter.pointee or parameter.type).removeprefix("const ")
        if not data.strip(b"\0"):
            return f"bytes({len(data)})"
        if pointee == "char":
            return repr(data.rstrip(b"\0").decode())
        if pointee in driver().structs:
            return self._struct(driver(), pointee, data)
        size = parameter.pointee_bytes
        if size and len(data) % size == 0:
            return f"[{', '.join(self.word(word) for word in _words(data, size))}]"
        return repr(data)

    def _struct(self, catalog: Catalog, name: str, data: bytes) -> str:
        content = bytearray(catalog.struct(name).bytes)
        given = []
        for path, offset, size in _leaves(catalog, name):
            value = int.from_bytes(data[offset : offset + size], "little")
            if value and not any(content[offset : offset + size]):
                content[offset : offset + size] = data[offset : offset + size]
                given.append(f"{path.replace('.', '__')}={self.word(value)}")
        return f'cu.struct("{name}", {", ".join(given)})' if bytes(content) == data else repr(data)


def _leaves(catalog: Catalog, name: str, path: str = "", start: int = 0) -> list[tuple[str, int, int]]:
    """(path, offset, bytes) of the members that are numbers, also of structs in it."""
    members = catalog.struct(name).members
    found = []
    for member in members:
        inner = f"{path}{member.name}"
        if member.type in catalog.structs:
            found += _leaves(catalog, member.type, f"{inner}.", start + member.offset)
        elif member.bytes <= 8 and not any(other.name.startswith(f"{member.name}.") for other in members):
            found.append((inner, start + member.offset, member.bytes))
    return found


def _words(data: bytes, size: int) -> list[int]:
    return [int.from_bytes(data[start : start + size], "little") for start in range(0, len(data), size)]


def _status(status: int) -> str:
    return "SIGSEGV" if status == CRASH else status_name("driver", status)
