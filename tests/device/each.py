"""``python each.py RESULTS EXECUTABLE NAME…``: runs the executable once per name, with the name as its argument.

RESULTS becomes a JSON object: by name, the process's id, its exit code (minus the signal) and what it printed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

TIMEOUT_S = 60

results, executable, *names = sys.argv[1:]
found = {}
for name in names:
    with subprocess.Popen([executable, name], stdout=subprocess.PIPE, text=True, errors="replace") as process:
        output, _ = process.communicate(timeout=TIMEOUT_S)
        found[name] = {"pid": process.pid, "exit_code": process.returncode, "output": output}
Path(results).write_text(json.dumps(found))
