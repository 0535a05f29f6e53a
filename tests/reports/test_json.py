from __future__ import annotations

import json
import runpy
from pathlib import Path

import jsonschema
import msgspec
import pytest

import cuvet
from cuvet.findings import Evidence, Finding, Frame, MachineCause, ObjectReport, Program, Report, Site, Tool
from cuvet.reports.formats.json import text
from cuvet.reports.terminal import SCHEMA_FILE

SITE = Site(api="cuCtxDestroy", call=1, process=1, thread=1, time_ns=0, frames=(Frame(function="f", file="a", line=1),))
FINDING = Finding(
    rule="CV101",
    name="context-destroy-twice",
    severity="error",
    message="m",
    api="cuCtxDestroy",
    status=709,
    site=SITE,
    objects=(ObjectReport(kind="context", handle="0x1", generation=1, name="context#1", created=SITE),),
    evidence=(Evidence(kind="measured", text="t", source="s"),),
    driver_log=("NULL is not a valid context",),
    library_log=("CUDNN_STATUS_BAD_PARAM; Reason: r",),
)
REPORT = Report(
    tool=Tool(version=cuvet.__version__),
    program=Program(argv=("a",)),
    findings=(FINDING,),
    machine=(MachineCause(cause="device-none-visible", verdict="v", evidence=("e",), fix="m"),),
    stats={"calls": 1},
)


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    schema = json.loads(SCHEMA_FILE.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_a_report_is_valid_and_comes_back(validator: jsonschema.Draft202012Validator) -> None:
    written = text(REPORT)
    validator.validate(json.loads(written))
    assert msgspec.json.decode(written, type=Report) == REPORT


@pytest.mark.parametrize(
    ("path", "value"), [(("schema",), "cuvet-report/2"), (("findings", 0, "severity"), "fatal"), (("program",), None)]
)
def test_a_wrong_report_is_refused(
    validator: jsonschema.Draft202012Validator, path: tuple[str | int, ...], value: object
) -> None:
    document = json.loads(text(REPORT))
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    assert not validator.is_valid(document)


def test_the_checked_in_schema_is_that_of_the_types() -> None:
    tool = Path(__file__).parents[2] / "tools/generate_schema.py"
    assert runpy.run_path(str(tool))["schema"]() == SCHEMA_FILE.read_text()
