"""The concepts that the examples of a page show in use."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from sakuin.knowledge.reading.anchors import AnchoredElement
from sakuin.knowledge.reading.outline import Region


def illustrated(found: Sequence[AnchoredElement], regions: Mapping[str, Region]) -> dict[str, tuple[str, ...]]:
    """Returns for every example the anchors of the concepts that it illustrates, in page order.

    Includes concepts that link to the example, that it links to, or that contain it. If there are none: the one concept
    that all examples under the same heading illustrate, or else the nearest concept before it in its section (h2).
    """
    concepts = {anchored.anchor: position for position, anchored in enumerate(found) if anchored.type != "example"}
    owners = {id(region): anchor for anchor, region in regions.items()}
    shown: dict[str, set[str]] = {}
    for anchor in (anchored.anchor for anchored in found if anchored.type == "example"):
        shown[anchor] = {*regions[anchor].links, owners.get(id(regions[anchor].outer), "")} & concepts.keys()
    for anchor in concepts:
        for link in shown.keys() & regions[anchor].links:
            shown[link].add(anchor)
    groups: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
    for anchor, targets in shown.items():
        groups[regions[anchor].headings] |= targets
    nearest: dict[tuple[str, ...], str] = {}  # the last concept of each section
    for anchored in found:
        headings = regions[anchored.anchor].headings
        if anchored.type != "example":
            nearest[headings[:2]] = anchored.anchor
        elif not shown[anchored.anchor]:
            together = groups[headings]
            guess = {nearest[headings[:2]]} if headings[:2] in nearest and not together else set()
            shown[anchored.anchor] = together if len(together) == 1 and len(headings) > 1 else guess
    return {anchor: tuple(sorted(targets, key=concepts.__getitem__)) for anchor, targets in shown.items()}
