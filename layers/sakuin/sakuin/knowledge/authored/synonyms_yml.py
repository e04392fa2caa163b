"""The file `synonyms.yml`, in which authors write phrases that mean the same."""

from dataclasses import dataclass

from yaml.nodes import Node, SequenceNode

from sakuin.errors import Invalid
from sakuin.knowledge.authored.authored_yaml import AuthoredYaml, is_text, line_of
from sakuin.knowledge.names import SYNONYMS_FILE
from sakuin.language.synonyms import MOST_BYTES, MOST_GROUPS, Group, read_group
from sakuin.texts.catalogue import coded

_FILE = AuthoredYaml(
    SYNONYMS_FILE,
    largest=MOST_BYTES,
    deepest=3,
    too_large=f"{MOST_BYTES // 1024} KiB. Keep the groups that matter.",
    no_alias="Write the group out.",
    too_deep="Write a list of groups.",
)


@dataclass(frozen=True, slots=True)
class SynonymsFile:
    """Groups of synonymous phrases in NFC; `problems` describe the groups and phrases that were left out."""

    groups: tuple[Group, ...]
    problems: tuple[str, ...] = ()


def parse_synonyms(data: bytes) -> SynonymsFile:
    """Parses a list of groups such as `- [速さの公式, みはじ, はじき]`.

    Raises `Invalid`, with the line if known, if the file is not YAML of that shape. A phrase can be in several groups;
    a repeated phrase in one group counts once. An invalid group or phrase does not affect the others.
    """
    root = _FILE.root(data)
    if root is None:
        return SynonymsFile(())
    if not isinstance(root, SequenceNode):
        raise Invalid(coded("file.synonyms_root", line=line_of(root)))
    groups: list[Group] = []
    problems: list[str] = []
    for node in root.value:
        if len(groups) == MOST_GROUPS:
            problems.append(f"line {line_of(node)}: more than {MOST_GROUPS} groups; those from here on are left out.")
            break
        if group := _group(node, problems):
            groups.append(group)
    return SynonymsFile(tuple(groups), tuple(problems))


def _group(node: Node, problems: list[str]) -> Group | None:
    if not isinstance(node, SequenceNode):
        problems.append(f"line {line_of(node)}: a group is a list of phrases, `- [one, another]`.")
        return None
    phrases = ((f"line {line_of(item)}", item.value if is_text(item) else None) for item in node.value)
    return read_group(phrases, f"line {line_of(node)}", problems)
