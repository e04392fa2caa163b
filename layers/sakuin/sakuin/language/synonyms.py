"""Groups of phrases that mean the same, of a site's author or of a project."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence

from sakuin.errors import Invalid
from sakuin.language.notation import canonical
from sakuin.language.unicode_text import nfc

MOST_BYTES = 256 * 1024  # of all groups
MOST_GROUPS = 2000
MOST_PHRASES = 20  # in one group
LONGEST_PHRASE = 60  # characters
_MOST_PROBLEMS = 10  # in one error
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")

Group = tuple[str, ...]

# Names that have other spellings on every site.
SPELLINGS: tuple[Group, ...] = (
    ("C#", "csharp", "c sharp"),
    ("C++", "cpp", "c plus plus"),
    ("F#", "fsharp", "f sharp"),
    (".NET", "dotnet"),
    ("斉藤", "斎藤", "齊藤", "齋藤"),
    ("渡辺", "渡邊", "渡邉"),
)


def read_group(phrases: Iterable[tuple[str, str | None]], place: str, problems: list[str]) -> Group | None:
    """Returns the phrases of a group in NFC, None without two different ones; adds what is wrong to `problems`.

    Each phrase comes with its place for the message; None is no text.
    """
    different: dict[str, str] = {}
    for where, text in phrases:
        phrase = _phrase(where, text, problems)
        if phrase:
            different.setdefault(canonical(phrase), phrase)
    if len(different) > MOST_PHRASES:
        problems.append(f"{place}: more than {MOST_PHRASES} phrases in one group; the first {MOST_PHRASES} count.")
    if len(different) < 2:
        problems.append(f"{place}: a group needs two different phrases.")
        return None
    return tuple(different.values())[:MOST_PHRASES]


def check_groups(groups: Sequence[Sequence[str]]) -> list[Group]:
    """Returns the groups in NFC. Raises `Invalid` with what is wrong if any group or phrase would be left out."""
    if len(groups) > MOST_GROUPS:
        raise Invalid(f"There are {len(groups):,} groups; the limit is {MOST_GROUPS:,}. Keep those that matter.")
    size = len(json.dumps(groups, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    if size > MOST_BYTES:
        raise Invalid(f"The synonyms have {size:,} bytes; the limit is {MOST_BYTES:,}. Keep the groups that matter.")
    problems: list[str] = []
    parsed = []
    for number, group in enumerate(groups):
        phrases = ((f"groups[{number}][{place}]", phrase) for place, phrase in enumerate(group))
        parsed.append(read_group(phrases, f"groups[{number}]", problems))
    if problems:
        omitted = f" And {len(problems) - _MOST_PROBLEMS} more." if len(problems) > _MOST_PROBLEMS else ""
        raise Invalid(f"{' '.join(problems[:_MOST_PROBLEMS])}{omitted} Correct them and send all groups again.")
    return [group for group in parsed if group]


def stored_groups(groups: Iterable[Sequence[str]]) -> list[Mapping[str, list[str]]]:
    """Returns groups as the database compares them with a question: as written, and normalized like a question."""
    return [{"phrases": list(group), "plain": [canonical(phrase) for phrase in group]} for group in groups]


def _phrase(where: str, text: str | None, problems: list[str]) -> str | None:
    if text is None:
        problems.append(f"{where}: a phrase is no text. Put it in quotes.")
        return None
    phrase = " ".join(nfc(text).split())
    if len(phrase) > LONGEST_PHRASE or _UNSTORABLE.search(phrase) or len(canonical(phrase).strip()) < 2:
        problems.append(f"{where}: a phrase has 2 to {LONGEST_PHRASE} characters.")
        return None
    return phrase
