"""Which concepts of its page an example shows in use."""

from collections.abc import Mapping, Sequence

from sakuin.knowledge.reading.outline import Region
from sakuin.knowledge.reading.places import Place


def illustrated(found: Sequence[Place], regions: Mapping[str, Region]) -> dict[str, tuple[str, ...]]:
    """For every example the anchors of the concepts that it illustrates, in page order.

    Certain: concepts that link to it, that it links to, or that it stands in. Else what its
    neighbours under the same heading illustrate, if they agree on one concept; else the nearest
    concept before it in the same section (h2), which no other page structure contradicts.
    """
    examples = [place.anchor for place in found if place.type == "example"]
    concepts = {place.anchor: position for position, place in enumerate(found) if place.type != "example"}
    shown: dict[str, set[str]] = {anchor: set() for anchor in examples}
    owners = {id(region): anchor for anchor, region in regions.items()}
    for anchor in concepts:
        for link in regions[anchor].links:
            if link in shown:
                shown[link].add(anchor)
    for anchor in examples:
        region = regions[anchor]
        shown[anchor].update(link for link in region.links if link in concepts)
        if region.outer is not None and owners.get(id(region.outer)) in concepts:
            shown[anchor].add(owners[id(region.outer)])
    certain = {anchor: frozenset(targets) for anchor, targets in shown.items() if targets}
    groups = _groups(certain, regions)
    nearest = _nearest_concepts(found, regions)
    return {
        anchor: tuple(sorted(certain.get(anchor) or _guess(anchor, groups, nearest, regions), key=concepts.__getitem__))
        for anchor in examples
    }


def _groups(
    certain: Mapping[str, frozenset[str]], regions: Mapping[str, Region]
) -> dict[tuple[str, ...], frozenset[str]]:
    """What the examples under one heading illustrate together."""
    groups: dict[tuple[str, ...], frozenset[str]] = {}
    for anchor, targets in certain.items():
        headings = regions[anchor].headings
        groups[headings] = groups.get(headings, frozenset()) | targets
    return groups


def _nearest_concepts(found: Sequence[Place], regions: Mapping[str, Region]) -> dict[str, str]:
    nearest: dict[tuple[str, ...], str] = {}
    before: dict[str, str] = {}
    for place in found:
        section = regions[place.anchor].headings[:2]
        if place.type != "example":
            nearest[section] = place.anchor
        elif section in nearest:
            before[place.anchor] = nearest[section]
    return before


def _guess(
    anchor: str,
    groups: Mapping[tuple[str, ...], frozenset[str]],
    nearest: Mapping[str, str],
    regions: Mapping[str, Region],
) -> frozenset[str]:
    together = groups.get(regions[anchor].headings, frozenset())
    if len(together) == 1 and len(regions[anchor].headings) > 1:
        return together
    return frozenset({nearest[anchor]}) if anchor in nearest and not together else frozenset()
