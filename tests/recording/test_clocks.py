"""The clocks of several machines: what can be told of them, and what is assumed."""

from __future__ import annotations

from typing import Literal

from cuvet.analysis.clocks import Clocks
from cuvet.analysis.process import Meeting
from cuvet.analysis.verdicts import Lived, Verdict
from cuvet.findings import Program, Rank, Report, Tool
from cuvet.meta import Moment

S = 10**9
EPOCH = 1_700_000_000 * S


def verdict(
    rank: int,
    host: str,
    *,
    wall_s: float = 0,
    met_s: tuple[float, float] | None = None,
    ranks: int = 2,
    ns_per_tick: float = 1,
    device: Literal["real", "emulated"] = "real",
) -> Verdict:
    """A rank of two, whose first record is 1 s behind the start of its machine. ``wall_s``: how far its wall clock is ahead; ``met_s``:
    when it entered the common call, and returned."""
    start = Moment(monotonic_ns=S, realtime_ns=EPOCH + S + round(wall_s * S))
    met = Meeting(ranks, round(met_s[0] * S), round(met_s[1] * S)) if met_s else None
    lived = Lived(
        process=100 + rank,
        rank=Rank(rank=rank, size=2, host=host),
        start=start,
        samples=((0, S), (S, S + round(S * ns_per_tick))),
        last_ns=0,
        ended=True,
        running=False,
        met=met,
    )
    report = Report(tool=Tool(version="1"), program=Program(argv=(), device=device))
    return Verdict(directory=f"rec.{rank}", report=report, host=host, boot=f"boot of {host}", processes=(lived,))


def difference(first: Verdict, second: Verdict) -> tuple[float, str]:
    """Seconds that the second's first record is behind the first's, and what is said."""
    clocks = Clocks([first, second])
    one, two = (clocks.of_call(each, each.processes[0], 0) for each in (first, second))
    return (two - one) / S, clocks.told


def test_one_machine_has_one_clock() -> None:
    """Also if its wall clock was set between the starts of two processes."""
    assert difference(verdict(0, "a"), verdict(1, "a", wall_s=-7)) == (0, "")


def test_wall_clocks_are_taken_to_agree_where_nothing_tells() -> None:
    apart, told = difference(verdict(0, "a"), verdict(1, "b", wall_s=5))
    assert apart == 5
    assert told.startswith("the wall clocks of 2 machines are taken to agree: no call was seen")


def test_a_common_call_corrects_a_clock() -> None:
    apart, told = difference(verdict(0, "a", met_s=(2, 3)), verdict(1, "b", wall_s=5, met_s=(2.5, 3)))
    assert abs(apart) < 0.5
    assert "the wall clock of b is 5.250 s (± 0.750 s) ahead of that of a, which is corrected" in told


def test_a_common_call_that_fits_corrects_nothing() -> None:
    apart, told = difference(verdict(0, "a", met_s=(2, 3)), verdict(1, "b", wall_s=0.2, met_s=(2.5, 3)))
    assert apart == 0.2
    assert told.endswith(": they agree")


def test_calls_that_do_not_meet_tell_nothing() -> None:
    for more in ({"device": "emulated"}, {"ranks": 4}):
        apart, told = difference(verdict(0, "a", met_s=(2, 3), **more), verdict(1, "b", wall_s=5, met_s=(2, 3), **more))
        assert apart == 5
        assert "no call was seen" in told
    grouped = difference(verdict(0, "a", met_s=(2, 2.0001)), verdict(1, "b", wall_s=5, met_s=(2, 2.0001)))
    assert grouped[0] == 5


def test_what_one_process_cannot_tell_of_the_rate_others_do() -> None:
    exact, wrong = verdict(0, "a"), verdict(1, "a")
    samples = ((0, S), (1000, S + 1100))
    short = Verdict(**{**_fields(wrong), "processes": (Lived(**{**_fields(wrong.processes[0]), "samples": samples}),)})
    clocks = Clocks([exact, short])
    assert (
        clocks.of_call(short, short.processes[0], 1100 * S) - clocks.of_call(exact, exact.processes[0], 0) == 1000 * S
    )


def _fields(struct: Verdict | Lived) -> dict:
    return {name: getattr(struct, name) for name in struct.__struct_fields__}
