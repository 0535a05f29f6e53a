"""Which calls are alike, where they repeat, and which repetitions are left out: checked against what the first lines of ``repeats.py`` say,
written plainly."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from cuvet.catalog import Kind
from cuvet.model.table import GENERATIONS
from cuvet.recording.reader import Array, Recording
from cuvet.recording.repeats import KEPT, ROW, Boundary, Repeats, Skipped, _agreeing, _distances, _Run, _runs, likeness

sys.path.insert(0, str(Path(__file__).parent))
import writing as w

STREAM, EVENT = Kind.STREAM, Kind.EVENT
SEEN = (0, STREAM, 3, 1, 0x50, 0xC0)
OUT = (2, EVENT, 1, 0xE0)
CALL: dict[str, object] = {
    "args": [1, 2, 3],
    "entered": 100,
    "returned": 110,
    "number": 1,
    "context": 0xC0,
    "stack": 5,
    "objects": [SEEN, (1, EVENT, 3, 1, 0x60, 0xC0)],
    "outputs": [OUT, (3, STREAM, 1, 0xF0)],
    "pointers": [0xD0],
}


def columns(directory: Path, calls: Iterable[bytes], written: int = 0, able: object = True) -> tuple[Array, Array]:
    w.write(directory, [w.chunk(b"".join(calls))])
    (batch,) = Recording(directory / "1000-1.cuvet").poll()
    count = len(batch.calls)
    bits = np.full(count, written, np.uint64)
    newest = np.full(1 << 8, 1 << 63, np.uint64)
    return likeness(batch, np.arange(count), np.broadcast_to(np.array(able, bool), count), bits, newest)


def made(name: str = "cuStreamWaitEvent", **fields: object) -> bytes:
    return w.call(name, **{**CALL, **fields})  # type: ignore[arg-type]


def objects(at: int, field: int, value: int) -> dict[str, object]:
    return {"objects": replaced(CALL["objects"], at, field, value)}


def outputs(at: int, field: int, value: int) -> dict[str, object]:
    return {"outputs": replaced(CALL["outputs"], at, field, value)}


def replaced(rows: object, at: int, field: int, value: int) -> list[tuple[int, ...]]:
    found = [[*row] for row in rows]  # type: ignore[attr-defined]
    found[at][field] = value
    return [tuple(row) for row in found]


ALIKE = {
    "entered": {"entered": 101},
    "returned": {"returned": 111},
    "number": {"number": 2},
    "generation of the first object": objects(0, 3, 7),
    "generation of the second object": objects(1, 3, 7),
    "generation of the first output": outputs(0, 2, 7),
    "generation of the second output": outputs(1, 2, 7),
    "an argument through which the driver writes": {"args": [1, 9, 3]},
}
OTHER = {
    "entry point": {"name": "cuEventRecord"},
    "flags": {"flags": w.ORDER},
    "status": {"status": 600},
    "thread": {"thread": 2},
    "stack": {"stack": 6},
    "context": {"context": 0xC1},
    "first argument": {"args": [9, 2, 3]},
    "last argument": {"args": [1, 2, 9]},
    "highest bit of an argument": {"args": [1 + (1 << 63), 2, 3]},
    "fewer arguments": {"args": [1, 2]},
    "no objects": {"objects": []},
    "pointer": {"pointers": [0xD1]},
    "upper half of a pointer": {"pointers": [0xD0 + (1 << 32)]},
    "input": {"inputs": {1: b"1"}},
    **{f"{what} of object {at}": objects(at, field, 9) for at in (0, 1) for what, field in
       (("parameter", 0), ("kind", 1), ("flags", 2), ("handle", 4), ("context", 5))},
    **{f"upper half of {what} of object {at}": objects(at, field, 1 << 40) for at in (0, 1) for what, field in
       (("handle", 4), ("context", 5))},
    **{f"{what} of output {at}": outputs(at, field, 9) for at in (0, 1) for what, field in
       (("parameter", 0), ("kind", 1), ("value", 3))},
    **{f"upper half of the value of output {at}": outputs(at, 3, 1 << 40) for at in (0, 1)},
}  # fmt: skip
"""What distinguishes a call from ``CALL``."""


def test_calls_are_alike_but_for_times_numbers_and_generations(tmp_path: Path) -> None:
    like, _ = columns(tmp_path, [made(), *(made(**each) for each in ALIKE.values())], written=0b10)
    assert [what for what, same in zip(ALIKE, (like[1:] == like[0]).tolist(), strict=True) if not same] == []
    like, _ = columns(tmp_path, [made(), *(made(**each) for each in OTHER.values())], written=0b10)
    assert len(np.unique(like)) == len(like)


def test_calls_are_compared_up_to_their_ends(tmp_path: Path) -> None:
    """Not with what follows them."""
    short, other = w.call("cuCtxSynchronize"), w.call("cuInit", [7])
    like, _ = columns(tmp_path, [short, short, other, short, made(), short])
    assert like[0] == like[1] == like[3] == like[5]


def test_what_a_written_argument_does_not_mask(tmp_path: Path) -> None:
    """Bits beyond the arguments, and words of objects, outputs and pointers."""
    like, _ = columns(tmp_path, [made(), *(made(**each) for each in OTHER.values())], written=(1 << 64) - 1 - 0b111)
    assert len(np.unique(like)) == len(like)


def test_words_behind_objects_and_outputs_are_compared_whole(tmp_path: Path) -> None:
    for fields in ({"outputs": []}, {"objects": []}, {"outputs": [], "objects": []}, {}):
        pointers = [made(**fields, pointers=[word]) for word in (0xD0, 0xD0 + (1 << 32), 0xD1)]
        like, generations = columns(tmp_path, pointers)
        assert len(np.unique(like)) == 3
        assert len(np.unique(generations)) == 1


def test_generations_are_told_apart_by_their_place(tmp_path: Path) -> None:
    changes = [objects(0, 3, 2), objects(1, 3, 2), outputs(0, 2, 2), outputs(1, 2, 2)]
    _, generations = columns(tmp_path, [made(), made(number=9), *(made(**each) for each in changes)])
    assert generations[0] == generations[1] != 0
    assert len(np.unique(generations)) == 1 + len(changes)
    both = made(objects=[(0, STREAM, 3, 2, 0x50, 0xC0), (1, EVENT, 3, 2, 0x60, 0xC0)])
    third = made(objects=[(0, STREAM, 3, 3, 0x50, 0xC0), (1, EVENT, 3, 3, 0x60, 0xC0)])
    _, generations = columns(tmp_path, [made(), both, third])
    first, second = np.diff(generations)  # that is how they grow
    assert first == second


def test_calls_that_cannot_be_like_another_are_like_none(tmp_path: Path) -> None:
    """Those of which somebody says so, and those with an object of unknown generation among their outputs."""
    like, generations = columns(tmp_path, [made()] * 3, able=[True, False, False])
    assert len(np.unique(like)) == 3
    assert generations.tolist()[1:] == [0, 0]
    unknown = made(outputs=[(2, EVENT, 0, 0xE0), (3, STREAM, 1, 0xF0)])
    last = made(outputs=[OUT, (3, STREAM, 0, 0xF0)])
    no_object = made(outputs=[(2, Kind.NONE, 0, 0xE0), (3, STREAM, 1, 0xF0)])
    like, _ = columns(tmp_path, [unknown, unknown, last, last, no_object, no_object])
    assert [int(each) in like.tolist()[:at] for at, each in enumerate(like.tolist())] == [False] * 5 + [True]
    seen = made(objects=[(0, STREAM, 3, 0, 0x50, 0xC0)], outputs=[])
    like, _ = columns(tmp_path, [seen, seen])
    assert like[0] == like[1]


def test_records_of_more_than_8_kib_are_like_none(tmp_path: Path) -> None:
    for length, alike in ((8192, True), (8200, False)):
        rest = bytes(length - 64 - 8 - 8)
        first, second = (w.call("cuInit", [0], inputs={0: rest[:-1] + last}) for last in (b"a", b"b"))
        assert len(first) == length
        like, _ = columns(tmp_path, [first, first])
        assert bool(like[0] == like[1]) is alike
        if alike:
            like, _ = columns(tmp_path, [first, second])
            assert like[0] != like[1]


# Where calls repeat.


def plain_distances(like: list[int]) -> list[int]:
    found = []
    for at in range(len(like)):
        window = like[at - 15 : at + 1]
        before = (back for back in range(1, at - 14) if at >= 16 and like[at - 15 - back : at + 1 - back] == window)
        found.append(next(before, 0))
    return found


@pytest.mark.parametrize("seed", range(12))
def test_distances_are_those_to_the_same_sixteen_calls(seed: int) -> None:
    chance = random.Random(seed)
    like: list[int] = []
    while len(like) < 200:
        part = [chance.randrange(1 << 60) for _ in range(chance.randrange(1, 20))]
        like += part * chance.randrange(1, 8) + like[: chance.randrange(1 + len(like))]
    assert _distances(np.array(like, np.uint64)).tolist() == plain_distances(like)


def rows_of(like: Iterable[int], generations: Iterable[int] | None = None) -> Array:
    numbers = [*like]
    rows = np.zeros(len(numbers), ROW)
    rows["like"], rows["number"] = numbers, np.arange(len(numbers))
    if generations is not None:
        rows["generations"] = [*generations]
    return rows


def once(count: int, first: int = 1000) -> list[int]:
    """Calls that are like no other."""
    return [(first + number) * 0x1_0001_0003 for number in range(count)]


def runs(like: list[int], generations: list[int] | None = None, begin: int = 0) -> list[_Run]:
    rows = rows_of(like, generations)
    return list(_runs(rows["like"], rows["generations"], begin))


def test_runs_begin_after_sixteen_calls_and_two_periods() -> None:
    """Calls are looked at if they are 64 or more."""
    assert runs([5] * 63) == []
    assert runs([5] * 64) == [_Run(16, 64, 1)]
    assert runs([5] * 64, begin=1) == []
    assert runs([5] * 70, begin=6) == [_Run(16, 70, 1)]
    assert runs([5] * 84, begin=20) == [_Run(20, 84, 1)]
    assert runs([*range(40)] * 5) == [_Run(80, 200, 40)]
    assert runs([*range(10)] * 12) == [_Run(25, 120, 10)]


def test_a_run_is_three_periods_long_or_goes_on() -> None:
    body = [*range(1, 31)]
    assert runs([*body * 5, *once(50)]) == [_Run(60, 150, 30)]
    assert runs([*body * 4, *body[:29], *once(50)]) == []
    assert runs([*once(50), *body * 2, *body[:16]]) == [_Run(95, 126, 30)]
    assert runs([*once(50), *body, *body[:16]]) == [_Run(95, 96, 30)]
    assert runs([*once(50), *body, *body[:15]]) == []
    assert runs([*once(50), *[7] * 24, *once(50)]) == [_Run(66, 74, 1)]
    assert runs([*once(50), *[7] * 23, *once(50)]) == []
    assert runs([*once(5), *[7] * 30, *once(30), *[8, 9] * 20]) == [_Run(21, 35, 1), _Run(82, 105, 2)]


def test_a_period_has_at_most_16384_calls() -> None:
    for period, found in ((16384, True), (16385, False)):
        body = once(period)
        assert runs(body * 2 + body[:100]) == ([_Run(2 * period, 2 * period + 100, period)] if found else [])


def test_a_run_that_is_part_of_a_longer_one_does_not_count() -> None:
    """As a loop of which every fourth turn waits."""
    turn = [*range(1, 31)]
    every_fourth = [*turn * 4, 99]
    length = len(every_fourth)
    assert runs([*every_fourth * 6]) == [_Run(2 * length, 6 * length, length)]
    assert runs([*every_fourth * 6, *turn * 40]) == [_Run(6 * length + 30 + 15, 6 * length + 40 * 30, 30)]
    before, *rest = runs([*[7] * 300, *every_fourth * 6])
    assert (before, rest) == (_Run(16, 300, 1), [_Run(300 + length, 300 + 6 * length, length)])


def test_a_run_is_where_generations_grow_evenly() -> None:
    """The longest part of it."""
    even = [2 * number for number in range(100)]
    assert runs([5] * 100, even) == [_Run(16, 100, 1)]
    bent = [number + 50 * (number >= 40) for number in range(100)]  # of other growth at 40, and again at 41
    assert runs([5] * 100, bent) == [_Run(42, 100, 1)]
    late = [number + 50 * (number >= 80) for number in range(100)]
    assert runs([5] * 100, late) == [_Run(16, 80, 1)]
    odd = [number * number for number in range(100)]
    assert runs([5] * 100, odd) == []
    last = [*range(99), 200]
    assert runs([5] * 100, last) == [_Run(16, 99, 1)]


def test_a_repetition_goes_on_as_long_as_calls_and_growth_agree() -> None:
    like = [1, 2, 3] * 10
    grown = [number // 3 for number in range(30)]

    def agreeing(like: list[int], generations: list[int]) -> int:
        rows = rows_of(like, generations)
        return _agreeing(rows["like"], rows["generations"], 12, 3)

    assert agreeing(like, grown) == 18
    assert agreeing([*like[:20], 9, *like[21:]], grown) == 8
    assert agreeing(like, [*grown[:25], 99, *grown[26:]]) == 13
    assert agreeing([*like[:12], 9, *like[13:]], grown) == 0
    assert agreeing(like[:12], grown[:12]) == 0


# What is left out.


def taken(rows: Array, sizes: Iterable[int], steady_after: int, *, has_gaps: bool = False) -> list[object]:
    """Numbers of calls, and what stands between them: (period ends, first) and (periods left out). The state is steady after so many
    periods."""
    repeats, found, seen = Repeats(), [], 0
    repeats.has_gaps = has_gaps
    places = [0, *sizes, len(rows)]
    for begin, end in pairwise(places):
        for item in repeats.take(rows[begin:end]):
            if isinstance(item, Boundary):
                seen = 0 if item.first else seen + 1
                repeats.steady = seen >= steady_after
                found.append(("boundary", item.first))
            elif isinstance(item, Skipped):
                found.append(("skipped", item.periods))
            else:
                found += item["number"].tolist()
    assert repeats.sources() <= {0}
    for item in repeats.end():
        found += item["number"].tolist()
    assert repeats.sources() == set()
    return found


def test_more_periods_are_kept_than_generations_are_remembered() -> None:
    assert KEPT > GENERATIONS + 1


def test_the_last_eight_periods_are_given() -> None:
    body = [*range(1, 21)]
    for times in (13, 14, 40):
        found = taken(rows_of([*body * times, *once(30)]), [], 2)
        numbers = [each for each in found if isinstance(each, int)]
        left_out = times - 2 - 2 - 8
        begin, end = 80, 80 + 20 * left_out
        assert numbers == [*range(begin), *range(end, 20 * times + 30)]
        assert [each for each in found if not isinstance(each, int)] == [
            ("boundary", True),
            ("boundary", False),
            ("boundary", False),
            ("skipped", left_out),
        ]
        assert found.index(("skipped", left_out)) == 80 + 3
    found = taken(rows_of([*body * 12, *once(30)]), [], 2)
    assert [each for each in found if isinstance(each, int)] == [*range(270)]


def test_what_is_not_steady_is_given() -> None:
    found = taken(rows_of([*[1, 2, 3, 4] * 30, *once(30)]), [], 1000)
    assert [each for each in found if isinstance(each, int)] == [*range(150)]
    places = [at for at, each in enumerate(found) if not isinstance(each, int)]
    assert places[0] == 19
    assert {after - before for before, after in pairwise(places)} == {5}  # after each period of four


@pytest.mark.parametrize("size", [1, 3, 4, 7, 9])
def test_periods_end_where_they_do_however_calls_come_in(size: int) -> None:
    rows, repeats = rows_of([1, 2, 3, 4] * 60), Repeats()
    found: list[object] = []
    for begin, end in pairwise([0, 64, *range(64 + size, 240, size), 240]):
        for item in repeats.take(rows[begin:end]):
            found += [item] if isinstance(item, tuple) else item["number"].tolist()
    places = [found[at - 1] for at, each in enumerate(found) if each == Boundary(False)]
    assert places == [*range(19 + 3, 240, 4)]
    assert [each for each in found if isinstance(each, int)] == [*range(240)]


@pytest.mark.parametrize("seed", range(60))
def test_what_is_left_out_are_whole_periods(seed: int) -> None:
    """However calls come in, all are given but whole periods in the middle of a repetition, of which the last eight are given."""
    chance = random.Random(seed)
    like: list[int] = []
    generations: list[int] = []
    loops: list[tuple[int, int, int]] = []
    for number in range(chance.randrange(1, 6)):
        body, times = once(chance.randrange(1, 40), 10_000 * number), chance.choice([1, 2, 40])
        growth = chance.choice([0, 1, 3])
        loops.append((len(like), len(like) + len(body) * times, len(body)))
        like += body * times
        generations += [growth * each for each in range(times) for _ in body]
        extra = chance.choice([0, 0, 7, 100])
        like += once(extra, 10_000 * number + 5000)
        generations += [0] * extra
    sizes = sorted(chance.randrange(len(like) + 1) for _ in range(chance.choice([0, 1, 5, 30])))
    found = taken(rows_of(like, generations), sizes, chance.choice([0, 1, 7]))
    following, left = 0, 0
    for item in found:
        if isinstance(item, int):
            if item != following:
                begin, _, period = next(each for each in loops if each[0] <= following < each[1])
                assert item - following == left * period
                assert begin + period + 15 <= following < item
            following, left = item + 1, 0
        elif isinstance(item, tuple) and item[0] == "skipped":
            left += item[1]
    assert following == len(like)
    assert left == 0
    given = {each for each in found if isinstance(each, int)}
    for begin, end, period in loops:
        assert {*range(max(begin, end - 8 * period), end)} <= given


def test_a_repetition_goes_on_over_several_takes() -> None:
    """Periods that are held back are left out as soon as there are more than eight."""
    rows, repeats = rows_of([1, 2] * 200), Repeats()
    begun = list(repeats.take(rows[:64]))
    shown = [each if isinstance(each, tuple) else len(each) for each in begun]
    assert shown == [17, Boundary(True), *[2, Boundary(False)] * 23, 1]
    repeats.steady = True
    assert list(repeats.take(rows[64:79])) == []
    assert repeats.sources() == {0}
    assert list(repeats.take(rows[79:80])) == []
    assert list(repeats.take(rows[80:81])) == []
    assert list(repeats.take(rows[81:82])) == [Skipped(1)]
    assert list(repeats.take(rows[82:100])) == [Skipped(9)]
    (held,) = repeats.flush()
    assert held["number"].tolist() == [*range(84, 100)]
    assert list(repeats.flush()) == []
    assert list(repeats.take(rows[100:180])) == [Skipped(32)]
    assert [each["number"].tolist() for each in repeats.interrupt()] == [[*range(164, 180)]]
    (again,) = repeats.take(rows[180:243])  # what was before is forgotten
    assert again["number"].tolist() == [*range(180, 243)]


def test_what_is_remembered_is_bounded() -> None:
    repeats = Repeats()
    for first in range(0, 100_000, 10_000):
        assert sum(map(len, repeats.take(rows_of(once(10_000, first))))) == 10_000
    assert len(repeats._like) == len(repeats._generations) == 1 << 16


GAPS: dict[str, tuple[Callable[[int], int], bool]] = {
    "periods": (lambda at: 6 * at, True),
    "one period": (lambda at: at, True),
    "no period": (lambda at: 0, True),
    "more of one call": (lambda at: 6 * at + (at == 3), False),
    "other growth": (lambda at: 5, False),
    "less": (lambda at: -3 * at, False),
}


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("sizes", [[400], [400, 407], [403]])
def test_a_repetition_goes_on_behind_periods_that_were_left_out_before(gap: str, sizes: list[int]) -> None:
    """Generations of call ``at`` of a period grow by ``at`` in each: calls behind a gap tell of how many more."""
    missing, goes_on = GAPS[gap]
    like, times = [*range(1, 21)], 40
    generations = [
        (turn * at + (missing(at) if turn >= times // 2 else 0)) % (1 << 64)
        for turn in range(times)
        for at in range(20)
    ]
    rows = rows_of(like * times, generations)
    for has_gaps in (True, False):
        found = taken(rows, sizes, 2, has_gaps=has_gaps)
        begun = sum(each == ("boundary", True) for each in found)
        assert (begun == 1) == (gap == "no period" or (has_gaps and goes_on))
        assert [each for each in found if isinstance(each, int)][-160:] == [*range(640, 800)]


def test_where_nothing_grows_there_is_no_gap() -> None:
    rows = rows_of([*range(1, 21)] * 40, [7 * (at >= 400) for at in range(800)])
    assert taken(rows, [400], 2, has_gaps=True).count(("boundary", True)) == 2
