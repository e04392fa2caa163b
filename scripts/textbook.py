"""Makes a textbook for `benchmarks.general` from a book of OpenStax: CNXML in a git repository.

`python -m scripts.textbook REPOSITORY COLLECTION LANGUAGE FOLDER [STEP FIRST]` writes `site/`, a page of each module
with exercises, or of every STEP-th one after the first FIRST modules, and `exercises.jsonl`: lines with an exercise
(`query`) and its `page`, which does not have its text.
"""

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from html import escape, unescape
from pathlib import Path
from typing import Any

from lxml import etree

Element = Any
_MATHML = "{http://www.w3.org/1998/Math/MathML}"
_PAGE = (
    '<!doctype html><html lang="{language}"><head><meta charset="utf-8"><title>{title}</title></head>'
    "<body><main><h1>{title}</h1>\n{content}\n</main></body></html>"
)
_TAGS = {
    **{"section": "section", "note": "aside", "example": "aside", "para": "p", "equation": "div", "table": "table"},
    **{"row": "tr", "entry": "td", "list": "ul", "item": "li", "term": "dfn", "emphasis": "em", "link": "a"},
    **{"sub": "sub", "sup": "sup", "figure": "figure", "caption": "figcaption"},
}
_NESTED = {"section", "note", "example"}
_NEVER_SHOWN = {"metadata", "glossary", "media", "image", "footnote"}
_NOT_ASKED = _NEVER_SHOWN | {"figure", "solution", "commentary"}
_NOT_SHOWN_SECTIONS = {"references", "learning-objectives"}
# Exercises in them belong to the page.
_EXPLAINED = {"example", "note", "glossary", "metadata"}
_SHORTEST, _LONGEST, _EXERCISES, _LEAST_TEXT = 60, 600, 6, 1_500


def main(repository: Path, collection: str, language: str, folder: Path, step: int = 1, first: int = 0) -> None:
    """Writes the folder."""
    (folder / "site").mkdir(parents=True, exist_ok=True)
    modules = re.findall(r'module document="(\w+)"', _git(repository, "show", f"HEAD:{collection}").decode())
    lines, taken = [], 0
    for module in modules[first:]:
        document = etree.fromstring(_git(repository, "show", f"HEAD:modules/{module}/index.cnxml"))
        content, title = document.find("{*}content"), _spaced("".join(document.find("{*}title").itertext()))
        exercises = [(id, text) for id, text in _exercises(content) if _SHORTEST <= len(text) <= _LONGEST]
        taken += bool(exercises)
        html = "".join(_html(each, 1) + "\n" for each in content)
        text = unescape(re.sub(r"<[^>]+>", "", html))
        if not exercises or (taken - 1) % step or len(text) < _LEAST_TEXT:
            continue
        page = _PAGE.format(language=language, title=escape(title), content=html)
        (folder / "site" / f"{module}.html").write_text(page, "utf-8")
        new = [each for each in exercises if _letters(each[1])[:80] not in _letters(text)]
        drawn = sorted(new, key=lambda each: hashlib.sha256("".join(each).encode()).hexdigest())[:_EXERCISES]
        lines += [{"query": each, "id": id, "page": module} for id, each in drawn]
    written = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    (folder / "exercises.jsonl").write_text(written, "utf-8")


def _git(repository: Path, *command: str) -> bytes:
    git = ["git", "-C", str(repository), *command]
    return subprocess.run(git, capture_output=True, check=True).stdout  # noqa: S603 - a list, without a shell


def _tag(element: Element) -> str:
    """Returns the name of an element; none of a comment."""
    return etree.QName(element).localname if isinstance(element.tag, str) else ""


def _html(element: Element, depth: int) -> str:
    name = _tag(element)
    if not name or name in _NEVER_SHOWN:
        return ""
    if element.tag.startswith(_MATHML):
        return _formula(element)
    if name == "section" and (element.get("class") in _NOT_SHOWN_SECTIONS or any(map(bool, _exercises(element)))):
        return ""
    if name == "title":
        level = min(depth + (1 if _tag(element.getparent()) in _NESTED else 2), 6)
        return f"<h{level}>{_inside(element, depth)}</h{level}>\n"
    if name == "figure":
        inside = "".join(map(partial(_html, depth=depth), element.iterfind("{*}caption")))
    else:
        inside = _inside(element, depth + (name in _NESTED))
    tag, id, heading = _TAGS.get(name), element.get("id"), ""
    if name == "para" and (title := element.find("{*}title")) is not None:
        # A heading is no part of a paragraph.
        heading = _html(title, depth + 1)
        inside = inside.removeprefix(_html(title, depth))
    attribute = f' id="{escape(id)}"' if id else ""
    return f"{heading}<{tag}{attribute}>{inside}</{tag}>" if tag else inside


def _inside(element: Element, depth: int) -> str:
    parts = [_html(each, depth) + escape(each.tail or "", quote=False) for each in element]
    return escape(element.text or "", quote=False) + "".join(parts)


def _formula(element: Element) -> str:
    name = _tag(element)
    if not name or name.startswith("annotation"):
        return ""
    inside = "".join(_formula(each) + escape((each.tail or "").strip(), quote=False) for each in element)
    return f"<{name}>{escape((element.text or '').strip(), quote=False)}{inside}</{name}>"


def _exercises(element: Element) -> Iterator[tuple[str, str]]:
    """Yields the ids and texts of the exercises that are no part of an explanation."""
    for each in element:
        if _tag(each) == "exercise":
            problem = each.find("{*}problem")
            yield each.get("id", ""), _spaced("".join(_question(problem))) if problem is not None else ""
        elif _tag(each) and _tag(each) not in _EXPLAINED:
            yield from _exercises(each)


def _question(element: Element) -> Iterator[str]:
    if not _tag(element) or _tag(element) in _NOT_ASKED or _tag(element).startswith("annotation"):
        return
    in_formula = element.tag.startswith(_MATHML)
    yield (element.text or "").strip() if in_formula else element.text or ""
    for each in element:
        yield from _question(each)
        yield (each.tail or "").strip() if in_formula else each.tail or ""
    if _tag(element) in {"para", "item", "entry", "equation", "title"}:
        yield " "


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _letters(text: str) -> str:
    return re.sub(r"\W+", "", text).lower()


if __name__ == "__main__":
    source, book, language, to, *numbers = sys.argv[1:]
    main(Path(source), book, language, Path(to), *map(int, numbers))
