"""Shows on a terminal that a long analysis is at work."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from cuvet.launch.trace import bytes_on_disk

LONG_BYTES = 64 << 20
"""Recordings smaller than this are read within a second or two."""


MANY = 32
"""Recordings."""


@contextmanager
def counted_off(directories: Sequence[Path]) -> Iterator[Callable[[int], None]]:
    """A bar on stderr while the block runs, if stderr is a terminal and the recordings are many or large. The block says how many more are
    done."""
    from rich.console import Console

    console = Console(stderr=True)
    size = sum(bytes_on_disk(path) for directory in directories for path in directory.glob("*.cuvet"))
    if not console.is_terminal or (size < LONG_BYTES and len(directories) < MANY):
        yield lambda count: None
        return
    from rich.progress import Progress

    with Progress(console=console, transient=True) as progress:
        task = progress.add_task(
            f"reading {size / 1e6:,.0f} MB of {len(directories):,} recordings", total=len(directories)
        )
        yield lambda count: progress.advance(task, count)


@contextmanager
def shown(directories: Sequence[Path]) -> Iterator[None]:
    """A spinner on stderr while the block runs, if stderr is a terminal and the recordings are large."""
    size = sum(bytes_on_disk(path) for directory in directories for path in directory.glob("*.cuvet"))
    if size < LONG_BYTES:
        yield
        return
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(f"reading {size / 1e6:,.0f} MB of recordings"):
        yield
