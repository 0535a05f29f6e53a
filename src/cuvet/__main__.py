from __future__ import annotations

import sys

from cuvet.cli import main

sys.exit(main())
