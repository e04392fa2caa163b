"""The answers of the knowledge tools as Markdown, for clients that show their model the text alone."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sakuin.mcp.answers import NOTE, Answer


def as_markdown(name: str, answer: Answer) -> str:
    """Returns the answer of a tool as Markdown: all of it that a reader needs."""
    lines = [
        NOTE,
        *(answer[each] for each in ("links", "degraded", "uncalibrated", "not_exact", "hint") if each in answer),
        *_WRITE[name](answer),
    ]
    if cursor := answer.get("next_cursor"):
        lines.append(f"{answer.get('truncated', 'There is more.')} next_cursor: {cursor}")
    return "\n".join(lines)


def _searched(answer: Answer) -> Iterator[str]:
    for part in (answer, *answer.get("queries", ())):
        name = f"{part['query']}: " if part is not answer else ""
        if part.get("understood_as"):
            yield f"{name}Searched, too: {part['understood_as']}"
        if part["no_good_match"] and (name or not answer.get("queries")):
            yield f"{name}No good match. The nearest results, whose texts come with max_tokens:"
        if part.get("not_in_scope"):
            yield f"{name}No text here has: {', '.join(part['not_in_scope'])}"
        if name and part["results"]:
            yield f"{name}results {', '.join(map(str, part['results']))}"
    for number, result in enumerate(answer["results"], 1):
        yield from _result(number, result)


def _result(number: int, result: Mapping[str, Any]) -> Iterator[str]:
    facts = f"{result['similarity']:.2f}{_lacks(result)}"
    if "content" not in result:
        shown = f": {' '.join(result['excerpt'].split())}" if "excerpt" in result else ""
        yield f"\n{number}. [{result['title']}]({result['url']}) {facts}{shown}"
    else:
        section = f"{result['section']} › " if result["section"] else ""
        yield f"\n## {number}. {section}{result['title']}\n{result['url']} {facts}\n"
        yield result["content"]
    for name, said in (("same_text", "The same text"), ("other_languages", "In other languages")):
        if result.get(name):
            yield f"{said}: {' '.join(result[name])}"
    if result.get("learns"):
        yield f"Learn: {' / '.join(result['learns'])}"


def _lacks(result: Mapping[str, Any]) -> str:
    return f", lacks {', '.join(result['missing'])}" if result.get("missing") else ""


def _chunks(answer: Answer) -> Iterator[str]:
    for chunk in [answer["chunk"]] if "chunk" in answer else answer["chunks"]:
        place = dict.fromkeys(filter(None, (chunk["page_title"], chunk["section"], chunk["title"])))
        yield f"\n## {' › '.join(place)}\n{chunk['url']} {chunk['id']}\n\n{chunk['content']}"
        if chunk["learns"]:
            yield f"Learn: {' / '.join(chunk['learns'])}"
        for side in ("previous", "next"):
            if beside := chunk.get(side):
                yield f"\n### {side}: {beside['title']}\n{beside['url']}\n\n{beside.get('content', '')}"
    if answer.get("missing"):
        yield f"There is no {', '.join(answer['missing'])}"


def _concepts(answer: Answer) -> Iterator[str]:
    for each in answer["concepts"]:
        yield f"- [{each['title']}]({each['url']}) {each['type']}"


def _materials(answer: Answer) -> Iterator[str]:
    if about := answer.get("about"):
        for place in (about, *about["folders"]):
            yield f"{place['folder'] or 'This library'}: {place['description'] or ''} {place['pages']} pages"
    values = answer["filters"] | answer["filters"].get("fields", {})
    yield from (f"{name}: {', '.join(each)}" for name, each in values.items() if each and name != "fields")
    for each in answer["materials"]:
        facts = ", ".join(filter(None, (each["category"], each["level"])))
        yield f"- [{each['title']}]({each['url']}) {each['material']}{f' ({facts})' if facts else ''}"


def _page(answer: Answer) -> Iterator[str]:
    line = f" from line {answer['line']}" if "line" in answer else ""
    yield f"{answer['url']}{line}\n\n{answer['text']}"


def _places(answer: Answer) -> Iterator[str]:
    for each in answer["places"]:
        yield f"{each['url']} line {each['line']} ({each['title']}): {each['text']}"
    if not answer["places"]:
        yield f"None of {answer['read']} explanations has it."


def _feedback(answer: Answer) -> Iterator[str]:
    yield "Counted."


_WRITE: Mapping[str, Callable[[Answer], Iterator[str]]] = {
    "search_knowledge": _searched,
    "get_chunk_by_id": _chunks,
    "list_concepts": _concepts,
    "list_materials": _materials,
    "read_page": _page,
    "find_text": _places,
    "give_feedback": _feedback,
}
