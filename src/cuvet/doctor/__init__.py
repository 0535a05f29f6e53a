"""What is wrong with this machine, before any CUDA call: driver, devices, limits, libraries, frameworks.

``Machine`` is all that a probe may look at; a probe (``probe.py``) is one file in ``probes/`` and yields conclusions.
"""
