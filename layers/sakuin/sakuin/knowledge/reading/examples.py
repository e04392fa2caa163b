"""The concepts that the examples of a page show in use."""

from collections.abc import Mapping, Sequence

from sakuin.knowledge.reading.anchors import AnchoredElement
from sakuin.knowledge.reading.outline import Region


def illustrated(found: Sequence[AnchoredElement], regions: Mapping[str, Region]) -> dict[str, tuple[str, ...]]:
    """Returns for every example the anchors of the concepts that it illustrates, in page order.

    Includes concepts that link to the example, that it links to, or that contain it. If there are none: the one concept
    that all examples under the same heading illustrate, or else the nearest concept before it in its section (h2).
    """
    examples = [anchored.anchor for anchored in found if anchored.type == "example"]
    concepts = {anchored.anchor: position for position, anchored in enumerate(found) if anchored.type != "example"}
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
    """Returns the concepts that the examples under each heading illustrate."""
    groups: dict[tuple[str, ...], frozenset[str]] = {}
    for anchor, targets in certain.items():
        headings = regions[anchor].headings
        groups[headings] = groups.get(headings, frozenset()) | targets
    return groups


def _nearest_concepts(found: Sequence[AnchoredElement], regions: Mapping[str, Region]) -> dict[str, str]:
    nearest: dict[tuple[str, ...], str] = {}
    before: dict[str, str] = {}
    for anchored in found:
        section = regions[anchored.anchor].headings[:2]
        if anchored.type != "example":
            nearest[section] = anchored.anchor
        elif section in nearest:
            before[anchored.anchor] = nearest[section]
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
