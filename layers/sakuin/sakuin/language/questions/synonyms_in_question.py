"""Which of a site's synonyms stand in a question."""

from collections.abc import Iterable, Mapping

from sakuin.language.concepts import place_of
from sakuin.language.notation import canonical

# A question never carries more: the longest phrases count.
MOST_IN_A_QUESTION = 20

LONGEST_QUESTION = 1000


def synonyms_in(query: str, groups: Iterable[tuple[str, ...]]) -> Mapping[str, tuple[str, ...]]:
    """The phrases of `groups` that stand in a question, each with the others of its groups; the longest first."""
    text = canonical(query[:LONGEST_QUESTION])
    found: dict[str, dict[str, None]] = {}
    for group in groups:
        for phrase in group:
            if place_of(canonical(phrase), text) is not None:
                found.setdefault(phrase, {}).update(dict.fromkeys(other for other in group if other != phrase))
    kept = sorted(found, key=lambda phrase: (-len(phrase), phrase))[:MOST_IN_A_QUESTION]
    return {phrase: tuple(found[phrase]) for phrase in kept}
