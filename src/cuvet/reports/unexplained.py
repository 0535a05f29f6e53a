"""Calls that failed and that no rule explains, for people: the program's own with their place and likely causes, libraries' in a line."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from cuvet.catalog import api_of, status_name
from cuvet.findings import UnexplainedFailure
from cuvet.printable import printable
from cuvet.reports import terminal


def render(failures: Sequence[UnexplainedFailure], total: int, console: Console) -> None:
    """A section for each place of the program's own code, then one for the libraries. ``total``: how many calls, listed or not."""
    for failure in failures:
        if failure.library is None:
            _own(failure, console)
            console.print()
    of_libraries = [failure for failure in failures if failure.library is not None]
    if of_libraries:
        terminal.line(
            console,
            Text("failed in libraries", style=terminal.STYLES["note"]).append(
                ", which may expect it:", style="not bold"
            ),
        )
        for failure in of_libraries:
            frames = [frame for frame in terminal.located(failure.site) if frame.file]
            where = f", first at {terminal.place_of(frames)}" if frames else ""
            terminal.line(console, Text(f"   {sentence(failure)}{where}", style="default"), indent=6)
        console.print()
    more = total - sum(failure.count for failure in failures)
    if more > 0:
        terminal.line(console, f"{more:,} more failed calls are not listed")
        console.print()


def sentence(failure: UnexplainedFailure) -> str:
    """``cudaMemset2D returned cudaErrorInvalidValue (1), 3 times``, for a library which, and why if that is known."""
    returned = f"{failure.api} returned {status_name(api_of(failure.api), failure.status)} ({failure.status})"
    times = f", {failure.count:,} times" if failure.count > 1 else ""
    where = f" in {failure.library}" if failure.library else ""
    why = f": {failure.reason}" if failure.reason else ""
    return printable(f"{returned}{where}{times}{why}")


def asking(failure: UnexplainedFailure) -> str:
    """The command that tells more."""
    return f"cuvet explain {status_name(api_of(failure.api), failure.status)} {failure.api}"


def _own(failure: UnexplainedFailure, console: Console) -> None:
    unknown = "" if failure.reason else ", and no rule says why"
    terminal.line(
        console, Text("failed", style=terminal.STYLES["note"]).append(f": {sentence(failure)}{unknown}", style="bold")
    )
    terminal.render_site(failure.site, console)
    for cause in failure.causes:
        terminal.labelled("may be", f"{cause.title} (cuvet explain {cause.cause})", console)
    if not failure.reason:
        terminal.labelled("more", asking(failure), console)
