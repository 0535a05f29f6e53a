"""What a rule's docstring says, by the headings of its page."""

from cuvet.fields import mistakes_in, paragraphs
from cuvet.rules.rule import Rule

HEADINGS = {"checks": "What it checks", "why": "Why it is wrong", "instead": "Use instead", "limits": "Limits"}
"""By the names of the fields in a rule's docstring."""


def sections(rule: type[Rule]) -> dict[str, str]:
    """The headings of the rule's page, and what its docstring says below each. TextError if it says something else."""
    with mistakes_in(rule.where("docstring")):
        texts = dict(paragraphs(rule.__doc__ or ""))
        if texts.keys() != HEADINGS.keys():
            raise ValueError(f"it has the fields {', '.join(texts) or 'none'}; write {', '.join(HEADINGS)}")
    return {HEADINGS[name]: text for name, text in texts.items()}
