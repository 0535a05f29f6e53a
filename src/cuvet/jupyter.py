"""A Jupyter kernel whose CUDA calls are recorded: ``python -m cuvet.jupyter OPTIONS -- ARGS…`` becomes ipykernel with these arguments.

It takes the place of this process, so that signals of Jupyter reach it, and so that its parent is the one that it expects. ``install``
tells Jupyter of it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cuvet import CuvetError, cli
from cuvet.printable import printable

NAME = "cuvet"
_DISPLAYED = "Python 3 (cuvet)"


def specification(options: Sequence[str]) -> dict[str, Any]:
    """``kernel.json``: that of ipykernel, but started here. ``options``: of ``cuvet env``."""
    try:
        from ipykernel.kernelspec import get_kernel_dict  # start: not in the kernel
    except ImportError:
        raise CuvetError(f"ipykernel is not installed for {sys.executable}: pip install 'cuvet[jupyter]'") from None
    command = [sys.executable, "-m", "cuvet.jupyter", *options, "--", "-f", "{connection_file}"]
    return {**get_kernel_dict(), "argv": command, "display_name": _DISPLAYED}


def install(prefix: Path | None, options: Sequence[str]) -> str:
    """The directory that Jupyter now finds the kernel in: one of this user, or below ``prefix``. CuvetError if it cannot be written."""
    import tempfile  # start: not in the kernel

    text = json.dumps(specification(options), indent=1)
    from jupyter_client.kernelspec import KernelSpecManager  # start: not in the kernel

    with tempfile.TemporaryDirectory(prefix="cuvet-") as folder:
        (Path(folder) / "kernel.json").write_text(text)
        os.chmod(folder, 0o755)
        try:
            where = KernelSpecManager().install_kernel_spec(
                folder, NAME, user=prefix is None, prefix=None if prefix is None else str(prefix.absolute())
            )
        except OSError as error:
            raise CuvetError(f"the kernel cannot be installed: {error.filename}: {error.strerror}") from None
    return str(where)


def main() -> int:
    """Returns only if the kernel cannot be started."""
    given = sys.argv[1:]
    at = given.index("--") if "--" in given else len(given)
    try:
        _become_kernel(cli.parse(["env", *given[:at]]), given[at + 1 :])
    except CuvetError as error:
        print(f"cuvet: {printable(str(error))}", file=sys.stderr)
    except OSError as error:
        print(f"cuvet: {sys.executable}: {error.strerror}", file=sys.stderr)
    return cli.UNABLE


def _become_kernel(args: Any, arguments: Sequence[str]) -> None:
    from cuvet.commands.run import ask_for_gpus  # start: not to install it

    asked = ask_for_gpus(args.device)
    from cuvet.launch import shell  # start: while libcuda is asked

    new = shell.recorded(args, asked, os.environ, os.getpid())
    if asked is not None:
        asked.kill()
        asked.wait()
    where = printable(f"{new.directory} (on {new.on})")
    print(f"cuvet: the kernel is recorded in {where}", file=sys.stderr, flush=True)
    os.execve(sys.executable, [sys.executable, "-m", "ipykernel_launcher", *arguments], new.variables)


if __name__ == "__main__":
    sys.exit(main())
