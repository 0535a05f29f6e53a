"""The magic ``%%cuvet`` of IPython: it runs a cell, and reports what its CUDA calls did wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any


def load(ipython: Any) -> None:
    """``ipython``: an ``InteractiveShell``."""
    ipython.register_magic_function(_magic(ipython), magic_kind="cell", magic_name="cuvet")


def _magic(ipython: Any) -> Callable[[str, str], None]:
    from IPython.core.error import UsageError

    from cuvet import CuvetError, api

    def cuvet(line: str, cell: str) -> None:
        """Run the cell, and report what its CUDA calls did wrong."""
        if line.strip():
            raise UsageError("%%cuvet takes no arguments")
        if not api.active():
            raise UsageError(
                "%%cuvet: this kernel is not recorded: choose the one that `cuvet jupyter install` installs"
            )
        if _awaits(ipython, cell):
            raise UsageError("%%cuvet: a cell that uses await outside of functions cannot run under it")
        try:
            with api.watch() as seen:
                result = ipython.run_cell(f"{cell}\npass" if _is_quiet(cell) else cell)
        except CuvetError as error:
            raise UsageError(f"%%cuvet: {error}") from None
        print(seen.text or "cuvet: nothing was found in this cell")
        _fail(result.error_before_exec or result.error_in_exec)

    return cuvet


def _awaits(ipython: Any, cell: str) -> bool:
    """Whether the cell needs an event loop of its own, while that of the kernel runs."""
    try:
        asyncio.get_running_loop()
        return bool(ipython.should_run_async(cell, transformed_cell=ipython.transform_cell(cell)))
    except (RuntimeError, SyntaxError):  # there is no loop; the cell is no Python, which it says when it runs
        return False


def _is_quiet(cell: str) -> bool:
    """Whether the last value is not to be shown. IPython looks at the cell with the magic, in which the semicolon is part of a string."""
    last = cell.strip().rpartition("\n")[2].partition("#")[0]
    return last.rstrip().endswith(";") and not cell.lstrip().startswith("%%")


def _fail(error: BaseException | None) -> None:
    """As the cell did. The traceback has been shown: an exception says itself how it is shown to IPython, if it is no SyntaxError."""
    if isinstance(error, SyntaxError):
        error = type("SyntaxError", (Exception,), {})(str(error))
    if error is not None:
        error._render_traceback_ = list  # type: ignore[attr-defined]
        raise error
