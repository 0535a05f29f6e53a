"""Write the JSON schema of the report from the types in ``cuvet.findings``."""

from __future__ import annotations

import inspect
import json

import msgspec

from cuvet.findings import SCHEMA, Report
from cuvet.reports.json import SCHEMA_FILE


def schema() -> str:
    """JSON Schema of a report, pinned to its version."""
    document = msgspec.json.schema(Report)
    for definition in document["$defs"].values():
        if "description" in definition:  # a docstring, whose indentation depends on Python's version
            definition["description"] = inspect.cleandoc(definition["description"])
    document["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    report = document["$defs"]["Report"]
    report["properties"]["schema"] = {"const": SCHEMA}
    report["required"] = ["schema", *report["required"]]
    return json.dumps(document, indent=2) + "\n"


if __name__ == "__main__":
    SCHEMA_FILE.write_text(schema(), encoding="utf-8")
