"""Write the JSON schemas of what the commands print, from the types that they encode."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import msgspec

from cuvet import findings
from cuvet.analysis import standing, whose
from cuvet.doctor import diagnosis
from cuvet.image import inspection
from cuvet.inject import outcome
from cuvet.knowledge import explanation
from cuvet.reports.check import SCHEMA_FILE as CHECK_SCHEMA_FILE
from cuvet.reports.doctor import SCHEMA_FILE as DIAGNOSIS_SCHEMA_FILE
from cuvet.reports.explanation import SCHEMA_FILE as EXPLANATION_SCHEMA_FILE
from cuvet.reports.inject import SCHEMA_FILE as INJECT_SCHEMA_FILE
from cuvet.reports.inspect import SCHEMA_FILE as INSPECTION_SCHEMA_FILE
from cuvet.reports.standing import SCHEMA_FILE as STANDING_SCHEMA_FILE
from cuvet.reports.terminal import SCHEMA_FILE
from cuvet.reports.whose import DUMP_SCHEMA_FILE
from cuvet.reports.whose import SCHEMA_FILE as WHOSE_SCHEMA_FILE
from cuvet.source.tool import report as check

SCHEMAS: dict[Path, tuple[type[msgspec.Struct], str]] = {
    SCHEMA_FILE: (findings.Report, findings.SCHEMA),
    CHECK_SCHEMA_FILE: (check.CheckReport, check.SCHEMA),
    EXPLANATION_SCHEMA_FILE: (explanation.Explanation, explanation.SCHEMA),
    INJECT_SCHEMA_FILE: (outcome.InjectReport, outcome.SCHEMA),
    INSPECTION_SCHEMA_FILE: (inspection.Inspection, inspection.SCHEMA),
    DIAGNOSIS_SCHEMA_FILE: (diagnosis.Diagnosis, diagnosis.SCHEMA),
    STANDING_SCHEMA_FILE: (standing.Standings, standing.SCHEMA),
    WHOSE_SCHEMA_FILE: (whose.Whose, whose.SCHEMA),
    DUMP_SCHEMA_FILE: (whose.WhoseOfDump, whose.DUMP_SCHEMA),
}
"""File to the type, and the version that it is pinned to."""


def schema(kind: type[msgspec.Struct] = findings.Report, version: str = findings.SCHEMA) -> str:
    """JSON Schema of the type."""
    document = msgspec.json.schema(kind)
    for definition in document["$defs"].values():
        if "description" in definition:  # a docstring, whose indentation depends on Python's version
            definition["description"] = inspect.cleandoc(definition["description"])
    document["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    top = document["$defs"][kind.__name__]
    top["properties"]["schema"] = {"const": version}
    top["required"] = ["schema", *top["required"]]
    return json.dumps(document, indent=2) + "\n"


if __name__ == "__main__":
    for file, (kind, version) in SCHEMAS.items():
        file.write_text(schema(kind, version), encoding="utf-8")
