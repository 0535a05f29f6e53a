"""A rule's page: for ``cuvet explain`` and for the documentation."""

from cuvet.knowledge.cause import Tell
from cuvet.rules.evidence import evidence_of, succeeding
from cuvet.rules.examples import Example, Source, invalid, runnable, sources, valid
from cuvet.rules.headings import sections
from cuvet.rules.rule import Rule, SourceRule


def page(rule: type[Rule], beliefs: tuple[str, ...] = (), tell: tuple[Tell, ...] = ()) -> str:
    """The page in Markdown. ``beliefs``: what people wrongly hold for true. ``tell``: what else than ``cuvet run`` shows it."""
    known = evidence_of(rule)
    parts = [f"# {rule.code} {rule.name}", f"**{rule.severity}**: {rule.summary} (seen by {seen_by(rule)})"]
    parts += [f"## {heading}\n\n{text}" for heading, text in sections(rule).items()]
    parts += ["## How to tell\n\n" + "\n".join(f"* `{one.command}`: {one.shows}" for one in tell)] if tell else []
    parts += (
        ["## What is known\n\n" + "\n".join(f"* {one.kind}: {one.text} ({one.source})" for one in known)]
        if known
        else []
    )
    parts += [_successes(rule)] if succeeding(rule) else []
    parts += ["## Wrong beliefs\n\n" + "\n".join(f"* {belief}" for belief in beliefs)] if beliefs else []
    parts += _examples("Wrong", invalid(rule)) + _examples("Right", valid(rule))
    return "\n\n".join(parts) + "\n"


def seen_by(rule: type[Rule]) -> str:
    """The commands that can find it."""
    commands = [] if issubclass(rule, SourceRule) else ["`cuvet run`"]
    return " and ".join(commands + (["`cuvet check`"] if sources(invalid(rule)) else []))


def _successes(rule: type[Rule]) -> str:
    """Which calls are reported even if they return success."""
    names = sorted(succeeding(rule) - {"*"})
    which = f"Calls of {' and '.join(f'`{name}`' for name in names)}" if names else "Calls"
    within = ", within the limits above" if "Limits" in sections(rule) else ""
    return f"{which} are reported even if they return success{within}."


def _examples(heading: str, examples: tuple[Example, ...]) -> list[str]:
    """Sources first, then the programs."""
    return [f"## {heading}", *map(_example, sources(examples) + runnable(examples))] if examples else []


def _example(example: Example) -> str:
    needs = f", {example.devices} devices" if example.devices > 1 else ""
    note = f"\n\n{example.note[0].upper()}{example.note[1:]}." if example.note else ""
    language = example.language if isinstance(example, Source) else "python"
    return f"### {example.name}{needs}\n\n```{language}\n{example.program.strip()}\n```{note}"
