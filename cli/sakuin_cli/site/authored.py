"""What a new `learns.yml` or `synonyms.yml` would lose of the one that it replaces, and keys that no page has."""

from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches

from sakuin.errors import Invalid
from sakuin.knowledge.learns.authored import LearnsFile, parse_learns, parse_synonyms
from sakuin.knowledge.names import LEARNS_FILE
from sakuin.knowledge.page import Finding


def lost_entries(key: str, *, old: bytes, new: bytes, carried: Collection[str]) -> list[str]:
    """Returns the entries of `old` that `new` does not have; raises `Invalid` if `new` cannot be read.

    Entries of a `learns.yml` for a material in `carried`, which the same push uploads or deletes, are not lost.
    """
    if key.endswith(LEARNS_FILE):
        kept = set(_learns(parse_learns(new)))
        names = {name for material in carried for name in names_of(material)}
        try:
            entries = _learns(parse_learns(old))
        except Invalid:
            return []  # it had no effect
        return [f"{name} #{anchor}" for name, anchor in entries if name not in names and (name, anchor) not in kept]
    groups = [set(group) for group in parse_synonyms(new).groups]
    try:
        before = parse_synonyms(old).groups
    except Invalid:
        return []
    return [", ".join(group) for group in before if not any(set(group) <= other for other in groups)]


def findings_of_learns(
    key: str, folder: str, file: LearnsFile, materials: Collection[str], anchors: Mapping[str, Collection[str]]
) -> Iterator[Finding]:
    """Yields findings about the entries of the `learns.yml` of `folder` that no page has.

    `materials` are all pages; the anchors of those that are not in `anchors` are unknown.
    """
    pages_of: dict[str, list[str]] = {}
    for material in materials:
        if material.startswith(folder):
            for name in names_of(material):
                pages_of.setdefault(name, []).append(material)
    for name, lists in file.lists.items():
        pages = pages_of.get(name, [])
        known = {anchor for page in pages for anchor in anchors.get(page, ())}
        if not pages:
            place = f"below {folder}" if folder else "in the library"
            message = f"{key} names {name}, but there is no such page {place}.{_nearest(name, pages_of)}"
            yield Finding("warning", "learns-without-page", key, None, message)
        elif all(page in anchors for page in pages):
            for anchor in lists.keys() - known:
                message = f"{key} names #{anchor}, which {name} does not have.{_nearest(anchor, known)}"
                yield Finding("warning", "learns-without-anchor", key, anchor, message)


def names_of(material: str) -> tuple[str, ...]:
    """Returns the keys that a `learns.yml` may use for a material: its name, or the last segment."""
    return tuple(dict.fromkeys((material, material.rpartition("/")[2])))


def _learns(file: LearnsFile) -> list[tuple[str, str]]:
    return [(name, anchor) for name, lists in file.lists.items() for anchor in lists]


def _nearest(name: str, names: Collection[str]) -> str:
    near = get_close_matches(name, names, n=1)
    return f" Is it {near[0]}?" if near else ""
