"""Titles that need the heading above them, such as "Fixed" in the notes of a release."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from sakuin.knowledge.page import Explanation

GENERIC = frozenset(
    {"added", "changed", "fixed", "removed", "deprecated", "security", "features", "new features", "bug fixes"}
    | {"bugfixes", "fixes", "breaking changes", "changes", "improvements", "enhancements", "deprecations", "removals"}
    | {"example", "examples", "usage", "parameters", "arguments", "options", "returns", "notes", "overview", "syntax"}
    | {"追加", "変更", "修正", "削除", "使い方", "引数", "戻り値", "概要", "構文"}
)

# "0.40.0 (October 15, 2024)", "[1.2.0] - 2024-10-15", "Version 2.1"
VERSION = re.compile(r"[\[(]?(?P<version>(?:v|version )?\d+(?:\.\d+)+[\w.+-]*)", re.IGNORECASE)

LONGEST_PARENT = 60  # characters


def with_parents(explanations: Sequence[Explanation]) -> tuple[Explanation, ...]:
    """Returns the explanations; generic titles, and those under several headings, become "0.40.0 › Fixed"."""
    parents = defaultdict(set)
    for each in explanations:
        parents[each.title].add(each.headings[-1:])
    return tuple(
        replace(each, title=f"{_short(each.headings[-1])} › {each.title}")
        if each.headings[-1:] not in ((), (each.title,))
        and (len(parents[each.title]) > 1 or each.title.casefold() in GENERIC)
        else each
        for each in explanations
    )


def _short(heading: str) -> str:
    version = VERSION.match(heading)
    return version["version"] if version else heading[:LONGEST_PARENT].rstrip()
