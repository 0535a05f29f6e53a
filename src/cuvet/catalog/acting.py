"""Which functions of the driver do something: of those that the runtime calls for one of its functions, the last that acts is what that was
called for; the others initialise, ask and load."""

from cuvet.catalog.catalog import EntryPoint
from cuvet.catalog.kinds import OWNED
from cuvet.catalog.roles import ENDS, MAKES, Verb

_WORKS = (Verb.BLOCKS, Verb.ON, Verb.LAUNCHES, Verb.READS, Verb.WRITES, Verb.RECORDS, Verb.QUERIES)
_LIVES = MAKES | ENDS | {Verb.REGISTERS}


def acts(entry_point: EntryPoint) -> bool:
    """Whether a call works, waits or asks about work, or makes or ends what a program has to end itself."""
    if entry_point.does(*_WORKS):
        return True
    return any(role.kind in OWNED and role.verb in _LIVES for role in entry_point.roles)
