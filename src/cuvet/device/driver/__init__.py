"""The emulated driver: the model says which status a call may have, the modules here do what a legal call does.

One module per CUDA noun; a function named like an entry point answers it, or is a generator that yields commands for the shim
meanwhile. It raises ``Refused`` with the status of a call that fails (``require``); if it returns, the call succeeded.
"""
