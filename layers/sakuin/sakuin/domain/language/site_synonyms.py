"""`synonyms.yml`: what a site's author says means the same, group by group."""

import unicodedata
from dataclasses import dataclass

import yaml
from yaml.nodes import Node, ScalarNode, SequenceNode

from sakuin.domain.language.notation import canonical
from sakuin.errors import Invalid

SYNONYMS_FILE = "synonyms.yml"
LARGEST_FILE = 256 * 1024  # bytes
MOST_GROUPS = 2000
MOST_PHRASES = 20  # in one group
LONGEST_PHRASE = 60  # characters
DEEPEST = 3
TEXT_TAG = "tag:yaml.org,2002:str"
LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Group = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SiteSynonyms:
    """Groups of phrases that mean the same, NFC, as written.

    `problems` are sentences on groups and phrases that were left out; they never cost another group.
    """

    groups: tuple[Group, ...]
    problems: tuple[str, ...] = ()


def parse_synonyms(data: bytes) -> SiteSynonyms:
    """Reads a list of groups, `- [速さの公式, みはじ, はじき]`.

    Raises `Invalid`, with the line where there is one, if it is not YAML of that shape. Aliases are refused: they can
    multiply without end. A phrase that is in two groups is in both; of a phrase twice in one group the first counts.
    """
    root = _composed(data)
    if root is None or (isinstance(root, ScalarNode) and not root.value):
        return SiteSynonyms(())
    if not isinstance(root, SequenceNode):
        raise Invalid(f"{SYNONYMS_FILE}, {_line(root)}: write a list of groups, each `- [one, another]`.")
    groups: list[Group] = []
    problems: list[str] = []
    for node in root.value:
        if len(groups) == MOST_GROUPS:
            problems.append(f"{_line(node)}: more than {MOST_GROUPS} groups; those from here on are left out.")
            break
        if group := _group(node, problems):
            groups.append(group)
    return SiteSynonyms(tuple(groups), tuple(problems))


def _composed(data: bytes) -> Node | None:
    if len(data) > LARGEST_FILE:
        raise Invalid(f"{SYNONYMS_FILE} is larger than {LARGEST_FILE // 1024} KiB. Keep the groups that matter.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Invalid(f"{SYNONYMS_FILE} is not valid UTF-8 (byte {error.start}). Save it as UTF-8.") from error
    try:
        _refuse_tricks(text)
        root: Node | None = yaml.compose(text, Loader=LOADER)
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        problem = error.problem or "not YAML"
        raise Invalid(f"{SYNONYMS_FILE}, {line}{problem}. Correct it and upload it again.") from error
    except yaml.YAMLError as error:
        raise Invalid(f"{SYNONYMS_FILE} is not YAML: {' '.join(str(error).split())}") from error
    return root


def _refuse_tricks(text: str) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=LOADER):
        if isinstance(event, yaml.AliasEvent):
            raise Invalid(f"{SYNONYMS_FILE}, {_line(event)}: aliases (*name) are not allowed. Write the group out.")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEEPEST:
                raise Invalid(f"{SYNONYMS_FILE}, {_line(event)}: nested too deeply. Write a list of groups.")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _group(node: Node, problems: list[str]) -> Group | None:
    if not isinstance(node, SequenceNode):
        problems.append(f"{_line(node)}: a group is a list of phrases, `- [one, another]`.")
        return None
    phrases: dict[str, str] = {}
    for item in node.value:
        phrase = _phrase(item, problems)
        if phrase:
            phrases.setdefault(canonical(phrase), phrase)
    if len(phrases) > MOST_PHRASES:
        problems.append(
            f"{_line(node)}: more than {MOST_PHRASES} phrases in one group; the first {MOST_PHRASES} count."
        )
    if len(phrases) < 2:
        problems.append(f"{_line(node)}: a group needs two different phrases.")
        return None
    return tuple(phrases.values())[:MOST_PHRASES]


def _phrase(node: Node, problems: list[str]) -> str | None:
    if not isinstance(node, ScalarNode) or node.tag != TEXT_TAG:
        problems.append(f"{_line(node)}: a phrase is no text. Put it in quotes.")
        return None
    phrase = " ".join(unicodedata.normalize("NFC", node.value).split())
    if len(canonical(phrase).strip()) < 2 or len(phrase) > LONGEST_PHRASE:
        problems.append(f"{_line(node)}: a phrase has 2 to {LONGEST_PHRASE} characters.")
        return None
    return phrase


def _line(node: Node | yaml.Event) -> str:
    return f"line {node.start_mark.line + 1}" if node.start_mark else "somewhere"
