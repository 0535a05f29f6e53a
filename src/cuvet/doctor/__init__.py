"""Finds what is wrong with this machine before any CUDA call: driver, devices, limits, libraries, frameworks.

A probe sees the machine only through ``Machine``. A probe (``probe.py``) is one file in ``probes/`` and yields conclusions.
"""
