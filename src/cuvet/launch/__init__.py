"""``cuvet run``: sets the environment, starts the program, and reads its recording while it runs."""
