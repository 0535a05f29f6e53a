"""A file of findings that are known and not to be reported again: ``cuvet-baseline/1``."""

import errno
from collections.abc import Sequence
from pathlib import Path

import msgspec

from cuvet import CuvetError
from cuvet.regular import NOT_REGULAR, read_whole
from cuvet.source.tool.fingerprints import place, relative
from cuvet.source.tool.report import CheckFinding

SCHEMA = "cuvet-baseline/1"
_MOST_BYTES = 64 << 20


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """``fingerprint`` decides; the rest is for those who read the file."""

    fingerprint: str
    rule: str
    file: str
    function: str
    message: str


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    schema: str = SCHEMA
    findings: tuple[Known, ...] = ()


def read(path: Path) -> frozenset[str]:
    """The fingerprints in a baseline. CuvetError if it cannot be read or is none."""
    try:
        baseline = msgspec.json.decode(read_whole(path, _MOST_BYTES), type=Baseline)
    except OSError as error:
        hint = "; --write-baseline makes it" if isinstance(error, FileNotFoundError) else ""
        raise CuvetError(f"cannot read the baseline {path}: {error.strerror}{hint}") from None
    except RecursionError:
        raise CuvetError(f"{path} is not a baseline: it is nested too deeply") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CuvetError(f"{path} is not a baseline: {error}") from None
    if baseline.schema != SCHEMA:
        raise CuvetError(
            f"{path} is not a baseline that this cuvet reads: its schema is {baseline.schema}, not {SCHEMA}"
        )
    return frozenset(known.fingerprint for known in baseline.findings)


def write(path: Path, findings: Sequence[CheckFinding], root: Path) -> None:
    """Replace the baseline by these findings. CuvetError if it cannot be written."""
    known = tuple(
        Known(
            fingerprint=finding.fingerprint,
            rule=finding.name,
            file=relative(place(finding).file or "", root),
            function=place(finding).function,
            message=finding.message,
        )
        for finding in findings
    )
    text = msgspec.json.format(msgspec.json.encode(Baseline(findings=known)), indent=2)
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise OSError(errno.EINVAL, NOT_REGULAR)
        path.write_bytes(text + b"\n")
    except OSError as error:
        raise CuvetError(f"cannot write the baseline {path}: {error.strerror}") from None
