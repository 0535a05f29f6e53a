"""``cuvet run``: the program's environment, the program, and reading along while it runs."""
