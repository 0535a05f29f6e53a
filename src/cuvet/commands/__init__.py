"""One command, one module.

Each has ``NAME``, ``HELP`` (one line), ``EPILOG`` (examples), ``add_arguments(parser)`` and ``run(args)``: the exit code.
"""
