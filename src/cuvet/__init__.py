"""cuvet: the validation layer for CUDA."""

__version__ = "0.1.0"
TYPE_CHECKING = False
if TYPE_CHECKING:
    from cuvet.api import Fault, Seen, active, analyze, check, explain, fail, found, mark, watch
    from cuvet.findings import Finding

__all__ = [
    "CuvetError", "Fault", "Seen", "WatchError", "__version__", "active", "analyze", "check", "explain", "fail", "found", "mark", "watch",
]  # fmt: skip


class CuvetError(Exception):
    """Something the user can fix. The command line prints it as one line and exits with 2."""


class WatchError(CuvetError):
    """Calls in a block ``with cuvet.watch(raises=True)`` were wrong. ``str`` of it is the report, ``findings`` what is in that."""

    def __init__(self, text: str, findings: "tuple[Finding, ...]") -> None:
        super().__init__(text)
        self.findings = findings


def load_ipython_extension(ipython: object) -> None:
    """``%load_ext cuvet``: the magic ``%%cuvet`` (docs/loading.md)."""
    from cuvet import notebook

    notebook.load(ipython)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """What programs use (``cuvet.api``) is imported when it is asked for: the command line does not."""
        if name not in __all__:
            raise AttributeError(f"module 'cuvet' has no attribute {name!r}")
        from cuvet import api

        return getattr(api, name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
