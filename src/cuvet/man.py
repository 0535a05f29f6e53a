"""Manual pages of all commands, from what ``--help`` shows.

``python -m cuvet.man DIRECTORY`` writes ``cuvet.1``, ``cuvet-run.1`` and so on.
"""

import argparse
import re
import sys
from pathlib import Path

from cuvet import __version__
from cuvet.cli import COMMANDS, make_parser

SECTIONS = {"examples": "EXAMPLES", "exit codes": "EXIT STATUS"}
"""The paragraphs of an epilog that are sections of their own, by how they begin. The others are NOTES."""
_ROFF = {"\\": r"\e", "-": r"\-", "`": r"\(ga", "'": r"\(aq", "^": r"\(ha", "~": r"\(ti", '"': r"\(dq"}


def pages() -> dict[str, str]:
    """File name and roff text of every page."""
    parser = make_parser()
    every = {"cuvet.1": parser, **{f"cuvet-{name}.1": make_parser([name]) for name in COMMANDS}}
    return {
        file: page(parser if file == "cuvet.1" else _commands(one)[file[len("cuvet-") : -len(".1")]], parser)
        for file, one in every.items()
    }


def page(parser: argparse.ArgumentParser, top: argparse.ArgumentParser) -> str:
    """The manual page of a parser: that of ``cuvet`` itself, ``top``, or of one of its commands."""
    commands = _commands(parser)
    name = parser.prog.replace(" ", "-")
    others = [f"cuvet-{other}" for other in _commands(top)] if parser is top else ["cuvet"]
    lines = [
        f'.TH {escaped(name.upper())} 1 "" "cuvet {__version__}" "cuvet"',
        *(".SH NAME", escaped(name) + r" \- " + escaped(_sentence(parser.description or ""))),
        *(".SH SYNOPSIS", _synopsis(parser)),
        *(".SH DESCRIPTION", _line(parser.description or "")),
    ]
    if commands:
        lines.append(".SH COMMANDS")
        for command, child in commands.items():
            lines += [".TP", rf"\fB{escaped(command)}\fR", _line(child.description or "")]
    positional = [action for action in parser._actions if not action.option_strings and not _is_commands(action)]
    for title, actions in ("ARGUMENTS", positional), ("OPTIONS", [a for a in parser._actions if a.option_strings]):
        lines += [f".SH {title}"] if actions else []
        for action in actions:
            lines += [".TP", _invocation(parser, action), _line(_help(parser, action))]
    lines += _epilog(parser.epilog or "")
    lines += [".SH SEE ALSO", ", ".join(rf"\fB{escaped(other)}\fR(1)" for other in others)]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """Text as roff shows it unchanged, in the middle of a line: its own signs, and what is not ASCII, become escapes."""
    return "".join(
        _ROFF.get(sign, sign) if " " <= sign <= "\x7e" else " " if sign in "\n\t" else f"\\[u{ord(sign):04X}]"
        for sign in text
    )


def _line(text: str) -> str:
    """The same for text that begins a line, where a point would be a request and a space a break."""
    text = escaped(text.strip())
    return rf"\&{text}" if text.startswith(".") else text


def _sentence(text: str) -> str:
    return text[:1].lower() + text[1:].rstrip(".") if not text[1:2].isupper() else text.rstrip(".")


def _is_commands(action: argparse.Action) -> bool:
    return isinstance(action, argparse._SubParsersAction)


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    return {
        name: child
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for name, child in action.choices.items()
    }


def _arguments(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    """What follows an option, or is given in the place of an argument: ``DIR [DIR ...]``."""
    if action.nargs == 0:
        return ""
    if action.nargs in (argparse.REMAINDER, argparse.PARSER):
        return str(action.metavar or "...")
    default = action.dest.upper() if action.option_strings else action.dest
    return parser._get_formatter()._format_args(action, default)


def _synopsis(parser: argparse.ArgumentParser) -> str:
    if parser.usage:
        return _line(parser.usage.replace("%(prog)s", parser.prog))
    words = [_arguments(parser, action) for action in parser._actions if not action.option_strings]
    return _line(" ".join([parser.prog, "[options]", *words]))


def _invocation(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    names = ", ".join(rf"\fB{escaped(option)}\fR" for option in action.option_strings)
    arguments = escaped(_arguments(parser, action))
    return " ".join(filter(None, (names, rf"\fI{arguments}\fR" if arguments else "")))


def _help(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    return parser._get_formatter()._expand_help(action) if action.help else ""


def _epilog(epilog: str) -> list[str]:
    """The paragraphs of an epilog as sections."""
    lines: list[str] = []
    for paragraph in re.split(r"\n\s*\n", epilog.strip("\n")):
        begin, _, rest = paragraph.partition(":")
        if section := SECTIONS.get(begin):
            text = rest.strip("\n")
        else:
            section, text = "NOTES", paragraph
        if f".SH {section}" in lines:
            lines.append(".PP")
        elif text.strip():
            lines.append(f".SH {section}")
        if section == "EXAMPLES":
            lines += [".EX", *map(_line, text.split("\n")), ".EE"]
        else:
            indented = False
            for line in filter(None, text.split("\n")):
                lines += [".br"] if indented or line.startswith("  ") else []
                indented = line.startswith("  ")
                lines.append(_line(line))
    return lines


def main(directory: Path) -> None:
    """Writes all pages to ``directory``, and removes those of commands that are no more."""
    directory.mkdir(parents=True, exist_ok=True)
    for stale in directory.glob("cuvet*.1"):
        stale.unlink()
    for file, text in pages().items():
        (directory / file).write_text(text, encoding="ascii")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m cuvet.man DIRECTORY")
    main(Path(sys.argv[1]))
