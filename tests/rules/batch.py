"""``python batch.py FILE…``: runs the programs of rules one after the other, each in a forked child of its own.

A file's name says how: ``no-setup`` in it leaves the setup out.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from cuvet.rules.programs import run_program

for name in sys.argv[1:]:
    file = Path(name)
    child = os.fork()
    if child == 0:
        run_program(file.read_text(), str(file), setup="no-setup" not in file.stem)
        os._exit(0)
    os.waitpid(child, 0)
