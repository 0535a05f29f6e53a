"""What of many findings, and of all that is known about them, a report for people shows unless it is asked for everything."""

import re
from collections import Counter
from collections.abc import Sequence

from cuvet.findings import SEVERITIES, Evidence, Finding

MOST_OF_RULE = 5
MOST = 20
"""Findings that are shown in full, of one rule and in all."""
_SUREST_FIRST = ("measured", "documented", "reported")


def select(findings: Sequence[Finding]) -> list[Finding]:
    """Those to show, in their order: the first of each rule, and errors rather than warnings."""
    shown: list[int] = []
    of_rule: Counter[str] = Counter()
    for index in sorted(range(len(findings)), key=lambda index: SEVERITIES.index(findings[index].severity)):
        of_rule[findings[index].rule] += 1
        if len(shown) < MOST and of_rule[findings[index].rule] <= MOST_OF_RULE:
            shown.append(index)
    return [findings[index] for index in sorted(shown)]


def fitting(finding: Finding) -> list[Evidence]:
    """Of the evidence that names the call at hand, by its name in the runtime or the driver, the surest: the first of them, since
    others lean on what stands before them. Else nothing. Of a call that failed, nothing that shows that it can succeed."""
    name = re.sub(r"^cu(?:da)?(?=[A-Z])", "", finding.api)
    prefix = "cu(?:da)?" if name != finding.api else ""
    named = re.compile(rf"\b{prefix}{re.escape(name)}(?:_v\d+)?\b")
    fit = [each for each in finding.evidence if named.search(each.text) or named.search(each.source)]
    if finding.status or finding.signal:
        fit = [each for each in fit if not each.succeeds]
    return sorted(fit, key=lambda each: _SUREST_FIRST.index(each.kind))[:1]
