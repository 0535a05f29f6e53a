"""Write docs/conformance.md and tests/conformance/snapshot.txt from the recordings in tests/conformance: what the model and the driver
agree on, for people; and all that a change of model or rules could change in it, for the tests. Where they were recorded goes into
``src/cuvet/knowledge/generated/recordings.json``, for the evidence of rules."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from cuvet.catalog import status_name
from cuvet.conformance.compare import (
    LEAST_AGREEMENT,
    LEAST_AGREEMENT_OF_A_KIND,
    MOST_UNDEFINED,
    Disagreement,
    Summary,
    Tally,
    tally,
)
from cuvet.conformance.recording import Header, Session, read
from cuvet.conformance.uncalled import never_called
from cuvet.rules.rule import CRASH

ROOT = Path(__file__).parents[1]
RECORDINGS = ROOT / "tests" / "conformance"
SNAPSHOT = RECORDINGS / "snapshot.txt"
MACHINES = ROOT / "src" / "cuvet" / "knowledge" / "generated" / "recordings.json"

ASYNCHRONOUS = "work on the device failed, and a later call reports it; why the work failed is not known"
DAMAGED = "not known: the same call on such objects returns everywhere else; something earlier damaged the process"
GRAPH_MEMORY = (
    "memory that a graph allocates: the recording does not have its address, or the time when it exists is not known"
)
WHICH_FIRST = "wrong in two ways; the order of the driver's checks was seen only once"
CAUSES: tuple[tuple[str, frozenset[int | None], str], ...] = (
    (
        r"cuMemcpy(Async)?",
        frozenset({None}),
        GRAPH_MEMORY + "; the driver treats an unknown address as the host's",
    ),
    (r"cuEventElapsedTime|cuStreamWaitEvent", frozenset({719}), WHICH_FIRST),
    (r"cuEventElapsedTime|cuEventRecordWithFlags|cuStreamBeginCapture", frozenset({1, 400}), WHICH_FIRST),
    (r"\w+", frozenset({700, 719}), ASYNCHRONOUS),
    (r"\w+", frozenset({None}), DAMAGED),
    (r"cuMemFree|cuMemcpyDto[DH]|cuMemsetD32Async|cuGraphLaunch", frozenset({0, 1}), GRAPH_MEMORY),
    (r"cuMemsetD8Async", frozenset({0}), "freed memory that the driver has given to a module since"),
)
"""Why the model is wrong where it is: entry points, what the driver returned (None: it died), the cause. What fits none was seen once."""

HEAD = f"""# Conformance

cuvet's model predicts what a call may do. This page compares the predictions with what drivers did, in random programs of 20 to 200 calls
over all kinds of object. The calls are legal, illegal and undefined ones, on several threads, contexts and devices.

A call **agrees** if all of the following are true:

* The driver's status is one that the model allows (`Prediction.statuses`: what follows from the first broken rule, nearly always one
  status).
* The process died of SIGSEGV where the model says so, and only there.
* The driver wrote the words that the model knows.

Calls that a rule calls **undefined** do not count as right or wrong; the tables give their share. **Several** means that the model
allowed more than one status. Half of these calls come after a `cuMemFree` that a rule calls wrong, because it freed memory of unfinished
work. Until the host has waited for that work, any call may report the fault. Most other calls of this sort ask whether work is done.

The goals are {LEAST_AGREEMENT:.1%} over all, {LEAST_AGREEMENT_OF_A_KIND:.1%} for every kind of object, and at most {MOST_UNDEFINED:.0%}
undefined. `make test` replays the recordings. It also shows that they detect a model that is wrong in one way.

These commands record on your GPU and driver, and compare (the comparison needs no GPU):

```
cuvet-conformance record --seed 1 --programs 500 --output mine.jsonl.zst
cuvet-conformance record --seed 2 --programs 500 --devices 2 --threads 4 --output two.jsonl.zst
cuvet-conformance check mine.jsonl.zst two.jsonl.zst
```

`record` runs programs in child processes, so that a crash or a hang ends there. It allocates little and changes no setting of the GPU. A
recording holds calls, handles, addresses and the lines of /proc/self/maps about registered memory. It holds no other names, paths or
memory contents of the machine. `check` prints what the model gets wrong as short Python programs, over `cu` as on the pages of the
[rules](rules.md).

`src/cuvet/conformance/steps` makes the programs, one file per noun. Put a new recording into `tests/conformance`. `make generate` then
writes this page and `tests/conformance/snapshot.txt`, which has each disagreement and what the model says of each entry point.

Rules must also hold for programs that nobody looked at: see [below](#seeds-that-nobody-looked-at). To test that on a recording of your
own, use seeds that are in none of these. The commands take four minutes on two GPUs; `--seconds` limits each one, and `--jobs` is the
number of programs that run at once:

```
cuvet-conformance record --seed 900000 --programs 100000 --devices 2 --threads 4 --seconds 120 --jobs 16 --output fresh-two.jsonl.zst
cuvet-conformance record --seed 950000 --programs 100000 --seconds 60 --jobs 16 --output fresh-one.jsonl.zst
cuvet-conformance check --show 30 fresh-two.jsonl.zst fresh-one.jsonl.zst
```
"""


SNAPSHOT_HEAD = """# What the model says of the recordings in this folder. Written by `make generate`; a test asks that it is still so.
# undefined: calls that a rule calls undefined. Of the others, agreed: those that ended as the model said; several: those of which it
# allowed more than one status. statuses, words: how many it allowed and knew in all.
# said: a checksum of all that it said of the calls, their violations included.
"""


UNSEEN = """## Seeds that nobody looked at

These recordings were made and compared with the model as it is now; nothing was fixed afterwards. They are not counted above. When the
recordings above were new, they agreed in 99.75% (h200x2-all-kinds-threads) and 99.85% (h200-all-kinds-2).
"""


def snapshot(summaries: dict[str, Summary]) -> str:
    """``summaries`` by name of recording: their counts and disagreements; counts per entry point and per rule over all of them."""
    total = Summary()
    wrong = []
    for file, summary in sorted(summaries.items()):
        total.include(summary)
        wrong += [f"{file} {_where(found)}" for found in summary.disagreements]
    recordings = {file: summary.all for file, summary in summaries.items()}
    lines = _columns("recordings", recordings) + _columns("entry points", total.entry_points)
    lines += ["", "## disagreements", *wrong, "", "## violations that rules named"]
    lines += [f"{rule:42}{count:8}" for rule, count in sorted(total.rules.items())]
    return "\n".join([SNAPSHOT_HEAD, *lines, ""])


def _columns(title: str, rows: dict[str, Tally]) -> list[str]:
    heads = ("calls", "agreed", "undefined", "several", "statuses", "words")
    lines = ["", f"## {title:39}" + "".join(f"{head:>10}" for head in (*heads, "said"))]
    return lines + [
        f"{name:42}" + "".join(f"{getattr(count, head):10}" for head in heads) + f"  {count.said & 0xFFFFFFFF:08x}"
        for name, count in sorted(rows.items())
    ]


def _where(wrong: Disagreement) -> str:
    words = "".join(f", {index} = {word:#x}" for index, word in sorted(wrong.outputs.items()))
    predicted = " or ".join(map(_status, wrong.predicted)) + words
    row = wrong.row
    return f"seed {wrong.session.seed} row {wrong.index}: {row.name} ended {_status(row.status)}, model {predicted}"


def page(files: list[Path], unseen: list[Path], summaries: dict[str, Summary]) -> str:
    total = Summary()
    rows: list[tuple[str, ...]] = []
    newest = 0
    for file in files:
        header, sessions = read(file)
        newest = max(newest, header.driver)
        rows.append(_recording(file, header, list(sessions)))
        total.include(summaries[file.name])
    parts = (HEAD, _recordings(rows), _kinds(total), _unseen(unseen, summaries), _disagreements(total.disagreements))
    return "\n".join((*parts, _entry_points(total, newest)))


def _unseen(files: list[Path], summaries: dict[str, Summary]) -> str:
    """Each recording apart, and the kinds of object that fall below what is asked of all."""
    rows, low = [], []
    for file in files:
        header, total = read(file)[0], summaries[file.name]
        wrong = _number(len(total.disagreements))
        gpus = " and ".join(dict.fromkeys(header.gpus))
        rows.append((file.name, gpus, header.driver_release, header.date, *_figures(total.all), wrong))
        low += [
            f"{kind.noun} in {file.name}: {count.agreement:.1%} of {_number(count.calls)} calls"
            for kind, count in sorted(total.kinds.items())
            if count.agreement < LEAST_AGREEMENT_OF_A_KIND
        ]
    heads = ("recording", "GPU", "driver", "date", "programs", "calls", "agreement", "undefined", "several", "wrong")
    below = f"\nKinds of object under {LEAST_AGREEMENT_OF_A_KIND:.1%}: {'; '.join(low) or 'none'}.\n"
    return "\n".join([UNSEEN, *_table(heads, rows), below])


def _recording(file: Path, header: Header, sessions: list[Session]) -> tuple[str, ...]:
    calls = [row for session in sessions for row in session.rows]
    devices = {row.args[1] for row in calls if row.name == "cuDevicePrimaryCtxRetain" and row.status == 0}
    counts = (
        len(devices),
        len({row.thread for row in calls}),
        sum(len(session.starts) for session in sessions),
        len(calls),
        sum(row.status is None for row in calls),
    )
    name = " and ".join(dict.fromkeys(header.gpus))
    return (file.name, name, header.driver_release, header.date, *map(_number, counts))


def _recordings(rows: list[tuple[str, ...]]) -> str:
    heads = ("recording", "GPU", "driver", "date", "devices", "threads", "programs", "calls", "crashes")
    return "\n".join(["## Recordings", "", *_table(heads, rows), ""])


def _kinds(total: Summary) -> str:
    rows = [(kind.noun, *_figures(count)) for kind, count in sorted(total.kinds.items())]
    rows.append(("**all**", *_figures(total.all)))
    heads = ("kind of object", "programs", "calls", "agreement", "undefined", "several")
    note = "A call counts for every kind that it names, makes or returns."
    return "\n".join(["## Kinds", "", note, "", *_table(heads, rows), ""])


def _figures(count: Tally) -> tuple[str, ...]:
    shares = (count.agreement, count.share_undefined, count.several / count.calls if count.calls else 0.0)
    return (_number(count.programs), _number(count.calls), *(f"{share:.2%}" for share in shares))


def _disagreements(found: list[Disagreement]) -> str:
    """What the model gets wrong, the most frequent first."""
    counts = Counter(
        (wrong.row.name, wrong.row.status, " or ".join(map(_status, wrong.predicted)), bool(wrong.outputs))
        for wrong in found
    )
    rows = [
        (str(count), f"`{name}`", _status(ended), f"{told}, other outputs" if outputs else told, _cause(name, ended))
        for (name, ended, told, outputs), count in counts.most_common()
    ]
    heads = ("calls", "entry point", "driver", "model", "cause")
    return "\n".join(["## Where they disagree", "", *_table(heads, rows), ""])


def _cause(name: str, ended: int | None) -> str:
    fitting = (why for pattern, statuses, why in CAUSES if re.fullmatch(pattern, name) and ended in statuses)
    return next(fitting, "seen once")


def _status(status: int | None) -> str:
    return "SIGSEGV" if status in (None, CRASH) else status_name("driver", status or 0).removeprefix("CUDA_")


def _entry_points(total: Summary, newest: int) -> str:
    rows = [
        (f"`{name}`", _number(count.calls), f"{count.agreement:.2%}", f"{count.share_undefined:.2%}")
        for name, count in sorted(total.entry_points.items())
    ]
    heads = ("entry point", "calls", "agreement", "undefined")
    never = never_called(set(total.entry_points), newest)
    reasons = [(why or "–", ", ".join(f"`{name}`" for name in names)) for why, names in sorted(never.items())]
    lines = [f"## Entry points\n\nThe programs call {len(rows)} entry points:\n", *_table(heads, rows)]
    lines += [
        "\nThey never call these, for these reasons:\n",
        *(line for why, names in reasons for line in _list(why, names)),
    ]
    return "\n".join([*lines, ""])


def _list(why: str, names: str) -> list[str]:
    """One reason with its names, in lines of at most 140 characters."""
    lines, line = [], f"* {why}:"
    for name in names.split(" "):
        if len(line) + len(name) + 1 > 140:
            lines.append(line)
            line = " "
        line += f" {name}"
    return [*lines, line]


def _table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    return [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}", *(f"| {' | '.join(row)} |" for row in rows)]


def _number(count: int) -> str:
    return f"{count:,}".replace(",", " ")


def machines(files: list[Path], unseen: list[Path], summaries: dict[str, Summary]) -> str:
    """JSON: GPU, driver and date of each recording, each once; then those of other GPUs, with the entry points of each rule whose calls
    ended there as the rule says."""
    headers = {file: read(file)[0] for file in files + unseen}
    known = {
        (gpu, each.driver_release, each.date) for file, each in headers.items() if file in files for gpu in each.gpus
    }
    others: dict[tuple[str, str, str], dict[tuple[str, str], bool]] = {}
    for file, each in headers.items():
        for gpu in {*each.gpus} - {gpu for gpu, _, _ in known}:
            alone = others.setdefault((gpu, each.driver_release, each.date), {})
            for key, agreed in summaries[file.name].alone.items():
                alone[key] = alone.get(key, True) and agreed
    rows: list[dict[str, object]] = [
        {"gpu": gpu, "driver": driver, "date": date} for gpu, driver, date in sorted(known)
    ]
    for (gpu, driver, date), alone in sorted(others.items()):
        rules: dict[str, list[str]] = {}
        for rule, name in sorted(key for key, agreed in alone.items() if agreed):
            rules.setdefault(rule, []).append(name)
        rows.append({"gpu": gpu, "driver": driver, "date": date, "rules": rules})
    return json.dumps(rows, indent=1) + "\n"


def main() -> None:
    files, unseen = sorted(RECORDINGS.glob("*.jsonl.zst")), sorted((RECORDINGS / "unseen").glob("*.jsonl.zst"))
    if files:
        summaries = {file.name: tally(*read(file)) for file in files + unseen}
        MACHINES.write_text(machines(files, unseen, summaries), encoding="utf-8")
        SNAPSHOT.write_text(snapshot(summaries), encoding="utf-8")
        (ROOT / "docs" / "conformance.md").write_text(page(files, unseen, summaries), encoding="utf-8")


if __name__ == "__main__":
    main()
