"""Checks the CUDA calls of tests, and of blocks of Python: the pytest plugin, and the process that judges for both."""
