"""`synonyms.yml`: groups of phrases that mean the same on a site."""

from dataclasses import dataclass

from yaml.nodes import Node, SequenceNode

from sakuin.errors import Invalid
from sakuin.language.authored_yaml import AuthoredYaml, is_text, line_of
from sakuin.language.notation import canonical
from sakuin.language.unicode_text import nfc

SYNONYMS_FILE = "synonyms.yml"
LARGEST_FILE = 256 * 1024  # bytes
MOST_GROUPS = 2000
MOST_PHRASES = 20  # in one group
LONGEST_PHRASE = 60  # characters
_FILE = AuthoredYaml(
    SYNONYMS_FILE,
    largest=LARGEST_FILE,
    deepest=3,
    too_large=f"{LARGEST_FILE // 1024} KiB. Keep the groups that matter.",
    no_alias="Write the group out.",
    too_deep="Write a list of groups.",
)
Group = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SiteSynonyms:
    """Groups of synonymous phrases in NFC; `problems` describe the groups and phrases that were left out."""

    groups: tuple[Group, ...]
    problems: tuple[str, ...] = ()


def parse_synonyms(data: bytes) -> SiteSynonyms:
    """Parses a list of groups such as `- [速さの公式, みはじ, はじき]`.

    Raises `Invalid`, with the line if known, if the file is not YAML of that shape. A phrase can be in several groups;
    a repeated phrase in one group counts once. An invalid group or phrase does not affect the others.
    """
    root = _FILE.root(data)
    if root is None:
        return SiteSynonyms(())
    if not isinstance(root, SequenceNode):
        raise Invalid(f"{SYNONYMS_FILE}, {line_of(root)}: write a list of groups, each `- [one, another]`.")
    groups: list[Group] = []
    problems: list[str] = []
    for node in root.value:
        if len(groups) == MOST_GROUPS:
            problems.append(f"{line_of(node)}: more than {MOST_GROUPS} groups; those from here on are left out.")
            break
        if group := _group(node, problems):
            groups.append(group)
    return SiteSynonyms(tuple(groups), tuple(problems))


def _group(node: Node, problems: list[str]) -> Group | None:
    if not isinstance(node, SequenceNode):
        problems.append(f"{line_of(node)}: a group is a list of phrases, `- [one, another]`.")
        return None
    phrases: dict[str, str] = {}
    for item in node.value:
        phrase = _phrase(item, problems)
        if phrase:
            phrases.setdefault(canonical(phrase), phrase)
    if len(phrases) > MOST_PHRASES:
        problems.append(
            f"{line_of(node)}: more than {MOST_PHRASES} phrases in one group; the first {MOST_PHRASES} count."
        )
    if len(phrases) < 2:
        problems.append(f"{line_of(node)}: a group needs two different phrases.")
        return None
    return tuple(phrases.values())[:MOST_PHRASES]


def _phrase(node: Node, problems: list[str]) -> str | None:
    if not is_text(node):
        problems.append(f"{line_of(node)}: a phrase is no text. Put it in quotes.")
        return None
    phrase = " ".join(nfc(node.value).split())
    if len(phrase) > LONGEST_PHRASE or "\0" in phrase or len(canonical(phrase).strip()) < 2:
        problems.append(f"{line_of(node)}: a phrase has 2 to {LONGEST_PHRASE} characters.")
        return None
    return phrase
