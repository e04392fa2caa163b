"""Names in German questions: which of the words with a capital, as all nouns have, are probably none."""

import re
from collections.abc import Collection, Iterator, Sequence

# Before a common noun, also with adjectives between them.
_DETERMINER = re.compile(
    r"d(?:er|ie|as|e[smn])|(?:[kmsd]?ein|ihr|unser|eu(?:er|r)|dies|jen|jed|welch|solch|manch|all|einig|mehrer|viel|wenig"
    r"|beid|ander|zahlreich|verschieden|bestimmt)(?:e[nmrs]?)?|zu[mr]|[ai]ns?|[ai]m|beim|vom|(?:auf|für|über|um|durch)s"
    r"|wieviele?|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|mehr|statt|pro|ohne|als",
    re.IGNORECASE,
)
_ADJECTIVE = re.compile(r"[a-zäöüß-]{3,}e[nrsm]?")
# These endings no verb has that may stand before a name.
_ALONE = re.compile(r"[a-zäöüß-]{3,}(?:e[rsm]|ene|ische|ige|liche|ale)")
_COMMON = re.compile(
    r".*(?:ung|[hk]eit|schaft|[ts]ion|tät|ismus|ment|nis|ling|chen|lein|tum|enz|anz|ik|logie|gra(?:ph|f)ie|eur|mus)"
    r"(?:e?n|e?s|e|se|innen|in)?"
    # The plural of many nouns: Füße, Bäume.
    r"|.*[äöü]u?[bcdfghjklmnprstvwxzß]{1,3}e"
)
# Single letters say as little as these.
_POLITE = re.compile(r"Sie|Ihnen|Ihre?[nmrs]?|.")
# Longer words are compounds.
_LONGEST = 11


def german_names(
    words: Sequence[re.Match[str]], begins: Collection[int], stop: Collection[str]
) -> Iterator[re.Match[str]]:
    """Yields the words inside sentences that are probably names: without an article, or side by side.

    `begins` are the places where sentences begin.
    """
    for place, word in enumerate(words):
        if word.start() in begins or not word[0][0].isupper() or _POLITE.fullmatch(word[0]) or word[0].lower() in stop:
            continue
        before = words[place - 1] if place else word
        beside = before.end() + 1 == word.start() and before[0][0].isupper() and before.start() not in begins
        follows = place + 1 < len(words) and words[place + 1].start() == word.end() + 1
        leads = follows and words[place + 1][0][0].isupper()
        is_common = _COMMON.fullmatch(word[0].rpartition("-")[2]) or (len(word[0]) > _LONGEST and "-" not in word[0])
        has_article = _has_article([each[0] for each in words[:place]], stop)
        # Of "Newtons Gesetz" the first alone is a name, and of "welches Werk Newtons" the last.
        of_a_name = has_article and leads and words[place + 1][0].endswith("s")
        is_name = (beside and not (is_common and before[0].endswith("s"))) or (
            leads and not is_common and not of_a_name
        )
        if is_name or not (is_common or (has_article and "-" not in word[0])):
            yield word


def _has_article(before: list[str], stop: Collection[str]) -> bool:
    if before and _ALONE.fullmatch(before[-1]) and before[-1] not in stop:
        return True
    while before and _ADJECTIVE.fullmatch(before[-1]) and not _DETERMINER.fullmatch(before[-1]):
        if before.pop() in stop:
            return False
    return bool(before) and _DETERMINER.fullmatch(before[-1]) is not None
