"""Findings as JUnit XML, which CI servers show as tests: the program is one, and each finding another.

A finding of severity error is a test that failed, any other one that was skipped. It is valid by the schemas of Ant's tasks
(windyroad/JUnit-Schema, ``JUnit.xsd``) and of Jenkins (jenkinsci/xunit-plugin, ``junit-10.xsd``).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timezone
from typing import TextIO
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from cuvet.findings import Finding, Program, Report
from cuvet.inject.outcome import InjectReport
from cuvet.printable import printable
from cuvet.reports import Document, inject, summary
from cuvet.reports.terminal import place_of, sentence, text_of, users_frame
from cuvet.signals import signal_name

_COUNTED = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def write(document: Document, out: TextIO, color: str) -> None:
    """The report of a run, or of injected faults. XML has no ``color``."""
    now = datetime.now(timezone.utc)
    if isinstance(document.content, Report):
        out.write(text(document.content, now))
    elif isinstance(document.content, InjectReport):
        out.write(text_of_places(document.content, now))


def text(report: Report, now: datetime) -> str:
    """The document. The schema of Ant's tasks asks for a time: ``now``, in UTC."""
    return _document([_of_program(report.program), *_of_findings(report)], _summary(report), now)


def text_of_places(report: InjectReport, now: datetime) -> str:
    """The same, with a test for each place whose calls were made to fail: it passes if the program deals with that."""
    return _document(list(_of_places(report)), [inject.summary(report).plain], now)


def _document(cases: Sequence[Element], said: Iterable[str], now: datetime) -> str:
    counts = {name: sum(case.find(outcome) is not None for case in cases) for name, outcome in _COUNTED.items()}
    numbers = {"tests": len(cases), **counts}
    suites = Element("testsuites")
    suite = SubElement(
        suites,
        "testsuite",
        {"id": "0", "name": "cuvet", "package": "cuvet", "hostname": "localhost", "time": "0"}
        | {"timestamp": now.strftime("%Y-%m-%dT%H:%M:%S")}
        | {name: str(number) for name, number in numbers.items()},
    )
    SubElement(suite, "properties")
    suite.extend(cases)
    SubElement(suite, "system-out").text = "\n".join(said) + "\n"
    SubElement(suite, "system-err")
    ElementTree.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(suites, encoding="unicode")}\n'


def _of_program(program: Program) -> Element:
    case = _case("cuvet", "program")
    if program.signal is not None:
        name = signal_name(program.signal)
        SubElement(case, "error", {"type": name, "message": f"the program died of {name}"})
    elif program.exit_code:
        SubElement(case, "failure", {"type": "exit code", "message": f"the program's exit code is {program.exit_code}"})
    return case


def _of_findings(report: Report) -> Iterator[Element]:
    """Each has a name of its own, by which servers compare two runs."""
    seen: Counter[str] = Counter()
    for finding in report.findings:
        name = _name(finding)
        seen[name] += 1
        case = _case(f"cuvet.{finding.rule}", name if seen[name] == 1 else f"{name} ({seen[name]})")
        about = {"message": printable(sentence(finding))}
        if finding.severity == "error":
            outcome = SubElement(case, "failure", {"type": f"{finding.rule} {finding.name}", **about})
        else:
            outcome = SubElement(case, "skipped", about)
        outcome.text = text_of(finding, report.program)
        yield case


def _of_places(report: InjectReport) -> Iterator[Element]:
    for tried in report.sites:
        case = _case(f"cuvet.inject.{tried.api}", f"{tried.api} at {inject.where(tried)} ({tried.id})")
        about = {"message": printable(f"{tried.verdict}: {inject.MEANINGS[tried.verdict]}")}
        if tried.severity in ("error", "warning"):
            outcome = SubElement(case, "failure", {"type": tried.verdict, **about})
            outcome.text = "\n".join(inject.text_of(tried))
        elif tried.verdict != "handled":
            SubElement(case, "skipped", about)
        yield case


def _name(finding: Finding) -> str:
    frame = users_frame(finding)
    return f"{finding.name} at {place_of([frame])}" if frame else finding.name


def _case(classname: str, name: str) -> Element:
    return Element("testcase", {"classname": classname, "name": name, "time": "0"})


def _summary(report: Report) -> Iterator[str]:
    for pieces in summary.lines(report, None, 0):
        yield printable("".join(words for words, _ in pieces))
