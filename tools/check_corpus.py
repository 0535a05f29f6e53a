"""Write docs/check-corpus.md and docs/check-bugfixes.md: what ``cuvet check`` finds in the public code of tools/fetch_corpus.py.

    python tools/fetch_corpus.py FOLDER
    python tools/check_corpus.py FOLDER              write both pages
    python tools/check_corpus.py FOLDER --judge      print the findings that somebody should judge next, with their source

Judgements are lines of tests/source/corpus/judged.jsonl: ``rule``, ``repo``, ``commit``, ``path``, ``line`` of a finding in the
corpus, a ``verdict`` (true, false, debatable), ``why``; and ``defect``, a sentence, if it is worth reporting to its authors.
The findings to judge are the same for everybody: of each rule those whose place has the smallest hashes.

first_look.json lists, look by look, repositories that nobody had looked at when they were checked, and what made findings false;
first_look.jsonl has every error and warning of those runs, judged. They are not checked again: what was fixed since then was fixed
for them too.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
import textwrap
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fetch_corpus import LISTS, bugfixes, folder_of, repositories

DOCS = Path(__file__).parents[1] / "docs"
SAMPLE = 30
"""Findings of a rule to judge by hand."""
WIDTH = 138
SEVERITIES = ("error", "warning", "note")
MOST_FALSE = {"error": 0.05, "warning": 0.15}

ABOUT = {
    "async-lifetime": "async|scope|lifetime|in-use|before-sync",
    "context-stack": "context|push|pop",
    "copied-owner": "copied",
    "destroy-not-owned": "own|borrow|foreign",
    "destroy-uninit": "uninit|never|twice|invalid|guard",
    "device-reset": "reset",
    "double-free": "twice|alias|kept|copied",
    "free-before-sync": "async|in-use|before-sync",
    "leak": "leak|overwritten",
    "leak-on-early-return": "leak",
    "leak-on-exception": "leak|capture",
    "mismatched-release": "wrong-function|heap-free|pinned",
    "missing-sync": "async|await|before-sync|in-use|leak",
    "overwrite-leak": "overwritten|leak",
    "static-destructor": "static|exit-(?!leak)|thread-local",
    "unchecked-status": "status|unchecked",
    "unregister": "regist|address",
    "use-after-destroy": "after|twice|dead",
    "use-uninit": "uninit|never|invalid",
    "wrong-argument": "argument|size|direction|device",
    "wrong-device": "device",
}
"""By kind of defect, what the names of rules hold that are about it: a rule of another subject can stand there by chance."""


class Found(NamedTuple):
    """A finding, with its path relative to the folder that was checked."""

    rule: str
    severity: str
    message: str
    path: str
    line: int
    function: str
    steps: tuple[tuple[str, int, str], ...]

    def places(self) -> set[tuple[str, int]]:
        return {(self.path, self.line), *((path, line) for path, line, _ in self.steps)}

    def key(self) -> tuple[str, str, str, str]:
        """What stays when lines above the finding move."""
        return self.rule, self.path, self.function, re.sub(r"\d+", "", self.message)


class Checked(NamedTuple):
    findings: list[Found]
    not_checked: int
    """Functions, and other stretches of lines, that could not be checked."""
    stats: dict[str, int]
    seconds: float


def check(folder: Path, jobs: int) -> Checked:
    """Run ``cuvet check`` over a folder."""
    command = (sys.executable, "-m", "cuvet", "check", "--format", "json", "--no-cache", "--jobs", str(jobs), ".")
    start = time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    if not done.stdout.startswith("{"):
        raise SystemExit(f"cuvet check {folder}: {done.stderr.strip()}")
    report = json.loads(done.stdout)
    for unread in report["unread"]:
        print(f"{folder}: {unread['file']}: {unread['why']}", file=sys.stderr)
    findings = [_found(finding, folder) for finding in report["findings"]]
    return Checked(findings, len(report["not_checked"]), report["stats"], seconds)


def _found(finding: dict[str, Any], folder: Path) -> Found:
    frame = finding["site"]["frames"][0]
    steps = tuple((_relative(s["frame"], folder), s["frame"]["line"], s["text"]) for s in finding.get("path", ()))
    path = _relative(frame, folder)
    return Found(
        finding["name"], finding["severity"], finding["message"], path, frame["line"], frame["function"], steps
    )


def _relative(frame: dict[str, Any], folder: Path) -> str:
    file = folder / str(frame["file"])  # which may be absolute
    return file.resolve().relative_to(folder.resolve()).as_posix()


# Judgements


def judgements() -> list[dict[str, str | int]]:
    file = LISTS / "judged.jsonl"
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


class Judged(NamedTuple):
    """The findings of the corpus against the judgements of them."""

    verdicts: dict[tuple[str, Found], dict[str, str | int]]
    """By repository and finding."""
    gone: list[dict[str, str | int]]
    """Judgements of what is not found any more."""


def judge(corpus: dict[str, Checked]) -> Judged:
    findings = defaultdict(list)
    for repository, checked in corpus.items():
        for finding in checked.findings:
            findings[repository, finding.rule, finding.path].append(finding)
    verdicts, gone = {}, []
    for row in judgements():
        there = findings[str(row["repo"]), str(row["rule"]), str(row["path"])]
        at = [f for f in there if f.line == row["line"]] or [f for f in there if (f.path, row["line"]) in f.places()]
        for finding in at:
            verdicts[str(row["repo"]), finding] = row
        if not at:
            gone.append(row)
    return Judged(verdicts, gone)


def sample(corpus: dict[str, Checked]) -> dict[str, list[tuple[str, Found]]]:
    """By rule, the findings to judge, each with its repository: one of each line, the same in every run."""
    places: dict[str, dict[tuple[str, str, int], tuple[str, Found]]] = defaultdict(dict)
    for repository, checked in corpus.items():
        for finding in checked.findings:
            places[finding.rule].setdefault((repository, finding.path, finding.line), (repository, finding))

    def order(place: tuple[str, str, int]) -> str:
        return hashlib.sha256(":".join(map(str, place)).encode()).hexdigest()

    return {rule: [at[place] for place in sorted(at, key=order)[:SAMPLE]] for rule, at in sorted(places.items())}


def print_to_judge(root: Path, corpus: dict[str, Checked]) -> None:
    judged = judge(corpus)
    for findings in sample(corpus).values():
        for repository, finding in findings:
            if (repository, finding) not in judged.verdicts:
                _print_finding(root / "corpus" / folder_of(repository), repository, finding)


def _print_finding(folder: Path, repository: str, finding: Found) -> None:
    print(f"{repository} {finding.path}:{finding.line}: {finding.severity}: {finding.message} [{finding.rule}]")
    for path, number, text in finding.steps or ((finding.path, finding.line, ""),):
        lines = (folder / path).read_text(encoding="utf-8", errors="replace").split("\n")
        print(f"  {number:6} {lines[number - 1].strip()[:100]}   {text}")
    print()


# Pages


def corpus_page(corpus: dict[str, Checked], jobs: int) -> str:
    judged = judge(corpus)
    parts = (
        *_corpus_head(),
        *_repositories(corpus, jobs),
        *_rules(corpus),
        *_shares(corpus, judged),
        *_first_looks(),
        *_defects(judged),
        *_false_alarms(judged),
    )
    return "\n".join(parts) + "\n"


def _corpus_head() -> list[str]:
    return [
        "# cuvet check on public code",
        "",
        "<!-- Written by tools/check_corpus.py. -->",
        "",
        *_filled(
            "`cuvet check` ran on the repositories below. This page counts all findings; a sample was judged by hand. A finding is "
            "false if what it says is not so on any run of the code as it is written. It is true if it is so, whether or not it "
            "does harm there. It is debatable if that depends on what the reader cannot see. Samples and benchmarks end soon: most "
            "of what leaks in them does no harm, but the finding is still true. The false alarms that were found here were fixed. "
            "Expect more on other code."
        ),
        "",
        "```",
        "python tools/fetch_corpus.py FOLDER      # about 550 MB, from GitHub, at pinned commits",
        "python tools/check_corpus.py FOLDER",
        "```",
        "",
    ]


def _repositories(corpus: dict[str, Checked], jobs: int) -> list[str]:
    commits = {row["repository"]: row for row in repositories()}
    head = ("repository", "commit", "date", "lines", "functions with CUDA", "not checked", *SEVERITIES, "seconds")
    rows = []
    for repository, checked in corpus.items():
        row = commits[repository]
        severity = Counter(finding.severity for finding in checked.findings)
        stats = (
            checked.stats["lines"],
            checked.stats["functions"],
            checked.not_checked,
            *(severity[s] for s in SEVERITIES),
        )
        rows.append(
            (repository, f"`{row['commit'][:10]}`", row["date"], *map(_number, stats), f"{checked.seconds:.1f}")
        )
    lines = sum(checked.stats["lines"] for checked in corpus.values())
    seconds = sum(checked.seconds for checked in corpus.values())
    speed = lines / seconds / jobs * 60 / 1e6
    return [
        *_table(head, rows, numbers_from=3),
        "",
        *_filled(
            f"{_number(lines)} lines in {seconds:.0f} s on {jobs} cores, without cache and with the start of {len(corpus)} processes: "
            f"{speed:.1f} million lines a minute a core. Functions with text that could not be parsed are not checked."
        ),
        "",
    ]


def _rules(corpus: dict[str, Checked]) -> list[str]:
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for repository, checked in corpus.items():
        for finding in checked.findings:
            counts[finding.rule, finding.severity][repository.split("/")[1]] += 1
    rows = [
        (f"`{rule}`", severity, _number(by.total()), ", ".join(f"{name} {n}" for name, n in by.most_common(4)))
        for (rule, severity), by in sorted(counts.items(), key=lambda item: (SEVERITIES.index(item[0][1]), item[0]))
    ]
    return ["## Findings by rule", "", *_table(("rule", "severity", "findings", "most of them in"), rows, 2, 3), ""]


def _shares(corpus: dict[str, Checked], judged: Judged) -> list[str]:
    severities = defaultdict(set)
    places = defaultdict(set)
    for repository, checked in corpus.items():
        for finding in checked.findings:
            severities[finding.rule].add(finding.severity)
            places[finding.rule].add((repository, finding.path, finding.line))
    tallies: dict[str, Counter[str]] = defaultdict(Counter)
    totals: dict[str, Counter[str]] = defaultdict(Counter)
    for place in (place for chosen in sample(corpus).values() for place in chosen):
        if row := judged.verdicts.get(place):
            tallies[place[1].rule][str(row["verdict"])] += 1
            totals[place[1].severity][str(row["verdict"])] += 1
    rows = []
    for rule, found in sorted(places.items()):
        tally = tallies[rule]
        severity = " or ".join(s for s in SEVERITIES if s in severities[rule])
        counts = (len(found), tally.total(), tally["true"], tally["debatable"], tally["false"])
        rows.append((f"`{rule}`", severity, *map(_number, counts), _share(tally)))
    head = ("rule", "severity", "places", "judged", "true", "debatable", "false", "false alarms")
    by_severity = "; ".join(
        f"of {_number(totals[s].total())} {s}s {_share(totals[s]) or 'none'} (goal: at most {MOST_FALSE[s]:.0%})"
        for s in MOST_FALSE
    )
    return [
        "## Judged by hand",
        "",
        *_filled(
            f"For each rule, {SAMPLE} places were judged (all, if there are fewer), chosen by a hash of the place. Several findings on a "
            f"line are one place. {len(judged.gone)} judgements are of findings that a later version does not report; they are not "
            f"counted. False alarms: {by_severity}."
        ),
        "",
        *_table(head, rows, numbers_from=2),
        "",
    ]


def first_looks() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The looks, and the judged findings of all of them."""
    lines = (LISTS / "first_look.jsonl").read_text(encoding="utf-8").splitlines()
    return json.loads((LISTS / "first_look.json").read_text(encoding="utf-8")), [json.loads(line) for line in lines]


def _first_looks() -> list[str]:
    looks, rows = first_looks()
    judged = {look["look"]: [row for row in rows if row["look"] == look["look"]] for look in looks}
    head = ("look", "date", "repositories", "lines", "functions with CUDA", "errors", "false", "warnings", "false")
    return [
        "## First looks",
        "",
        *_filled(
            "The repositories above were used while the checker was written. Those below were chosen before anything was known about them, "
            "and the checker ran on them once. Every error and warning of that run was judged; none was left out. False ones were fixed "
            "afterwards, as far as the lists of causes say, and are still counted."
        ),
        "",
        *_table(head, [_look_in_numbers(look, judged[look["look"]]) for look in looks], numbers_from=2),
        "",
        *(line for look in looks for line in _first_look(look, judged[look["look"]])),
    ]


def _look_in_numbers(look: dict[str, Any], rows: list[dict[str, Any]]) -> tuple[str, ...]:
    repositories = look["repositories"]
    sizes = (len(repositories), *(sum(row[each] for row in repositories) for each in ("lines", "functions")))
    tallies = [Counter(row["verdict"] for row in rows if row["severity"] == severity) for severity in MOST_FALSE]
    shares = (text for tally in tallies for text in (_number(tally.total()), _share(tally)))
    return str(look["look"]), look["date"], *map(_number, sizes), *shares


def _first_look(look: dict[str, Any], rows: list[dict[str, Any]]) -> list[str]:
    tallies: dict[tuple[int, str], Counter[str]] = defaultdict(Counter)
    for row in rows:
        tallies[SEVERITIES.index(row["severity"]), row["rule"]][row["verdict"]] += 1
    table = [
        (f"`{rule}`", SEVERITIES[severity], *map(str, (n.total(), n["true"], n["debatable"], n["false"])), _share(n))
        for (severity, rule), n in sorted(tallies.items())
    ]
    causes = Counter(row["cause"] for row in rows if row["verdict"] == "false")
    why = sorted(look["causes"], key=lambda each: (-causes[each["cause"]], each["cause"]))
    checker = f" with the checker of commit `{look['tool'][:10]}`" if "tool" in look else ""
    names = ", ".join(f"{row['repository']} `{row['commit'][:10]}`" for row in look["repositories"])
    too_large = look.get("too_large", ())
    return [
        f"### Look {look['look']}",
        "",
        *_table(("rule", "severity", "places", "true", "debatable", "false", "false alarms"), table, numbers_from=2),
        "",
        "What made findings false, how many findings, and when it was fixed:",
        "",
        *(line for each in why for line in _item(f"{causes[each['cause']]}: {each['what']}. {_fixed(each)}.")),
        "",
        *_filled(f"The repositories, on {look['date']}{checker}: {names}."),
        *(["", *_filled(f"Chosen too, and too large to fetch: {', '.join(too_large)}.")] if too_large else ()),
        "",
    ]


def _fixed(cause: dict[str, str]) -> str:
    return f"Fixed {cause['fixed']}" if cause["fixed"] else "Not fixed"


def _share(tally: Counter[str]) -> str:
    return f"{tally['false'] / tally.total():.0%}" if tally.total() else ""


def _defects(judged: Judged) -> list[str]:
    known = (*judged.verdicts.values(), *first_looks()[1])
    rows = {(r["repo"], r["path"], r["line"]): r for r in known if r.get("defect")}
    lines = [
        line
        for row in sorted(rows.values(), key=lambda r: (str(r["repo"]), str(r["path"]), int(r["line"])))
        for line in _item(f"{row['repo']} `{row['path']}:{row['line']}`: {row['defect']} (`{row['rule']}`)")
    ]
    return [
        "## Defects",
        "",
        f"{len(rows)} of the findings judged are worth a report to their authors:",
        "",
        *lines,
        "",
    ]


def _false_alarms(judged: Judged) -> list[str]:
    places = {
        (repo, f.path, f.line, f.rule): row["why"]
        for (repo, f), row in judged.verdicts.items()
        if row["verdict"] == "false"
    }
    lines = [
        line
        for (repository, path, number, rule), why in sorted(places.items())
        for line in _item(f"{repository} `{path}:{number}`, `{rule}`: {why}")
    ]
    return ["## Known false alarms", "", *(lines or ["None among the judged."])]


class Outcome(NamedTuple):
    """A bug-fix commit: rules that name the defect before it; those that still say the same after it."""

    row: dict[str, Any]
    before: tuple[str, ...]
    after: tuple[str, ...]
    severity: str
    """The worst of those before; empty if there are none."""
    correct: tuple[Found, ...]
    """All that is said of the files after the commit."""


def outcome(folder: Path, row: dict[str, Any]) -> Outcome:
    """Check ``folder/before`` and ``folder/after``."""
    before, after = (check(folder / side, jobs=1).findings for side in ("before", "after"))
    places = {(row["paths"][0], line + near) for line in row["lines"] for near in (-1, 0, 1)}
    said = {finding.key() for finding in after}
    about = re.compile(ABOUT[row["kind"]])
    there = [finding for finding in before if finding.places() & places and about.search(finding.rule)]
    found = [finding for finding in there if finding.key() not in said]
    still = dict.fromkeys(finding.rule for finding in there if finding.key() in said)
    worst = min((finding.severity for finding in found), key=SEVERITIES.index, default="")
    return Outcome(row, tuple(dict.fromkeys(f.rule for f in found)), tuple(still), worst, tuple(after))


def bugfixes_page(outcomes: Sequence[Outcome]) -> str:
    found = [o for o in outcomes if o.before]
    missed = [o for o in outcomes if not o.before]
    parts = (
        "# cuvet check on commits that fix CUDA defects",
        "",
        "<!-- Written by tools/check_corpus.py. -->",
        "",
        *_filled(
            f"Each of these {len(outcomes)} public commits fixes a defect in how a program uses CUDA's objects. `cuvet check` read the "
            "files that matter as they were before and after the commit, without the rest of their repository. **Found** means: before the "
            "fix, a rule about that kind of defect reports it at the defect or on a path through it. After the fix, the finding is gone."
        ),
        "",
        f"**{len(found)} of {len(outcomes)} found: {len(found) / len(outcomes):.0%}.**",
        "",
        *_by(outcomes, "scope", "can be seen in a"),
        "",
        *_by(outcomes, "kind", "kind"),
        "",
        "## Found",
        "",
        *(line for o in found for line in _item(_commit(o.row) + _by_rules(o))),
        "",
        "## Missed",
        "",
        *(line for o in missed for line in _item(f"{_commit(o.row)} What it takes: {o.row['needs']}." + _by_rules(o))),
    )
    return "\n".join(parts) + "\n"


def _by(outcomes: Sequence[Outcome], field: str, head: str) -> list[str]:
    total = Counter(o.row[field] for o in outcomes)
    found = Counter(o.row[field] for o in outcomes if o.before)
    rows = [(name, str(n), str(found[name]), f"{found[name] / n:.0%}") for name, n in total.most_common()]
    return _table((head, "commits", "found", "share"), rows, numbers_from=1)


def _commit(row: dict[str, Any]) -> str:
    return f"{row['repo']} `{row['commit'][:10]}` ({row['date']}) `{row['paths'][0]}:{row['line']}`: {row['what']}."


def _by_rules(of: Outcome) -> str:
    parts = []
    if of.before:
        parts.append("By " + ", ".join(f"`{rule}`" for rule in of.before) + ".")
    if of.after:
        parts.append("Said there before and after: " + ", ".join(f"`{rule}`" for rule in of.after) + ".")
    return "".join(f" {part}" for part in parts)


# Markdown


def _number(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def _filled(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _item(text: str) -> list[str]:
    options = {"break_long_words": False, "break_on_hyphens": False}
    return textwrap.wrap(text, WIDTH, initial_indent="* ", subsequent_indent="  ", **options)  # type: ignore[arg-type]


def _table(
    head: Sequence[str], rows: Iterable[Sequence[str]], numbers_from: int, numbers_to: int | None = None
) -> list[str]:
    numbers = range(len(head))[numbers_from:numbers_to]
    rule = ["---:" if column in numbers else "---" for column in range(len(head))]
    return [f"| {' | '.join(row)} |" for row in (head, rule, *rows)]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folder", type=Path, help="what tools/fetch_corpus.py fetched")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: %(default)s)")
    parser.add_argument("--judge", action="store_true", help="print the findings to judge, and write nothing")
    args = parser.parse_args()
    names = [row["repository"] for row in repositories()]
    corpus = {name: check(args.folder / "corpus" / folder_of(name), args.jobs) for name in names}
    if args.judge:
        print_to_judge(args.folder, corpus)
        return 0
    (DOCS / "check-corpus.md").write_text(corpus_page(corpus, args.jobs), encoding="utf-8")
    outcomes = [outcome(args.folder / "bugfixes" / row["id"], row) for row in bugfixes()]
    (DOCS / "check-bugfixes.md").write_text(bugfixes_page(outcomes), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
