"""The emulated driver: the model says which status a call may have, the modules here do what a legal call does.

One module per CUDA noun; a function named like an entry point answers it. It returns the status, or is a generator that
yields commands for the shim and returns the status.
"""
