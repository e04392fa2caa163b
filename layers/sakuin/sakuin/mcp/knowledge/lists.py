"""The answers of `list_concepts` and `list_materials`."""

from dataclasses import asdict

from sakuin.arguments import ListArguments, MaterialArguments
from sakuin.knowledge.names import page_link
from sakuin.knowledge.postgres_search import ReadKnowledge
from sakuin.mcp.answers import Answer, add_fitting, add_link_note
from sakuin.mcp.cursors import cursor_of, position_of


def list_concepts(read: ReadKnowledge, wanted: ListArguments) -> Answer:
    """Answers `list_concepts`. A cursor has the place in its page and the page of the last concept."""
    filters = read.within(wanted.filters)
    question = ("list_concepts", asdict(filters))
    after = None
    if wanted.cursor is not None:
        place, _, material = position_of(wanted.cursor, *question).partition(" ")
        after = (material, int(place))
    concepts, has_more = read.concepts(filters, after)
    if not concepts:
        read.check_filters(filters)
    answer: Answer = {"concepts": [], "next_cursor": None}
    add_link_note(answer, read.base_url, has_links=bool(concepts))
    entries = [
        {name: getattr(item, name) for name in ("id", "title", "type")}
        | {"url": read.url(item.material, item.anchor, item.text)}
        for item in concepts
    ]
    shown = add_fitting(answer, "concepts", entries)
    if has_more or shown < len(concepts):
        last = concepts[shown - 1]
        answer["next_cursor"] = cursor_of(f"{last.position} {last.material}", *question)
    return answer


def list_materials(read: ReadKnowledge, wanted: MaterialArguments) -> Answer:
    """Answers `list_materials`. A cursor has the name of the last page."""
    filters = read.within(wanted.filters)
    question = ("list_materials", filters.folder)
    after = None if wanted.cursor is None else position_of(wanted.cursor, *question)
    materials, has_more = read.materials(filters, after)
    if not materials:
        read.check_filters(filters)
    values = asdict(read.filter_values())
    del values["materials"]
    answer: Answer = {"materials": [], "filters": values, "next_cursor": None}
    if wanted.cursor is None:
        own, *folders = map(asdict, read.places(filters))
        answer = {"about": own | {"folders": folders}} | answer
    add_link_note(answer, read.base_url, has_links=bool(materials))
    entries = [asdict(item) | {"url": page_link(item.material, read.base_url)} for item in materials]
    shown = add_fitting(answer, "materials", entries)
    if has_more or shown < len(materials):
        answer["next_cursor"] = cursor_of(materials[shown - 1].material, *question)
    return answer
