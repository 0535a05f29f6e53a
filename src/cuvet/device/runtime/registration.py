"""What a program's static constructors told the runtime: its fatbins, and what the host's names for kernels and variables mean."""

from dataclasses import dataclass, field

from cuvet.device.protocol import Registration


@dataclass(slots=True)
class Binary:
    """``wrapper``: address of the fatbin's wrapper in the program. ``library``: its CUlibrary, 0 before it is needed."""

    wrapper: int
    library: int = 0


@dataclass(slots=True)
class Symbol:
    """``name``: address of its device-side name. ``handle``: a kernel's CUkernel or a variable's address, 0 before it is needed."""

    binary: Binary
    name: int
    size: int = 0
    managed: bool = False
    handle: int = 0


@dataclass(slots=True)
class Registry:
    """``primary``: handles of the primary contexts that the runtime retained, by device; ``ended``: of those it reset."""

    binaries: dict[int, Binary] = field(default_factory=dict)
    functions: dict[int, Symbol] = field(default_factory=dict)
    variables: dict[int, Symbol] = field(default_factory=dict)
    initialised: bool = False
    primary: dict[int, int] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)

    def register(self, what: int, words: tuple[int, ...]) -> bool:
        """Take a message; False if its id is none of theirs."""
        if what == Registration.BINARY:
            self.binaries[words[0]] = Binary(words[1])
        elif what == Registration.FUNCTION:
            self.functions[words[1]] = Symbol(self._binary(words[0]), words[2])
        elif what in (Registration.VARIABLE, Registration.MANAGED_VARIABLE):
            managed = what == Registration.MANAGED_VARIABLE
            self.variables[words[1]] = Symbol(self._binary(words[0]), words[2], words[3], managed)
        else:
            return False
        return True

    def _binary(self, handle: int) -> Binary:
        return self.binaries.setdefault(handle, Binary(0))
