"""Python imports this as it starts, in the processes that tests start under ``mutants.py``. MUTANT names the file that describes a
mutant: its source is loaded instead of the one that is there. MUTANTS_LINES is a folder: what lines of cuvet this process executes
is written there, with the test that started it (MUTANTS_TEST)."""

from __future__ import annotations

import atexit
import json
import os
import sys
from pathlib import Path


def write_lines(folder: str, test: str) -> None:
    import coverage

    cuvet = Path(__file__).parents[2] / "src" / "cuvet"
    measured = coverage.Coverage(data_file=None, source=[str(cuvet)], config_file=False)
    measured.start()

    def finish() -> None:
        measured.stop()
        data = measured.get_data()
        lines = {file: data.lines(file) for file in data.measured_files()}
        output = Path(folder, f"{os.getpid()}-{os.urandom(4).hex()}")
        output.write_text(json.dumps({"test": test, "lines": lines}))
        output.rename(output.with_suffix(".json"))  # whole, or not at all

    atexit.register(finish)


if mutant := os.environ.get("MUTANT"):
    from mutants_loader import OtherSource

    sys.meta_path.insert(0, OtherSource(json.loads(Path(mutant).read_text())))
elif (folder := os.environ.get("MUTANTS_LINES")) and (test := os.environ.get("MUTANTS_TEST")):
    write_lines(folder, test)
