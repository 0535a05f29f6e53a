import sys

from cuvet.cli import main

sys.exit(main())
