"""Edits of a page that authors make, drawn by seed: some may take answers, others change nothing that is indexed."""

import re
from collections.abc import Callable
from pathlib import Path
from random import Random

from bs4 import BeautifulSoup, Tag
from sakuin.knowledge.page import type_of_anchor

Edit = Callable[[BeautifulSoup, Random], None]


def _boxes(page: BeautifulSoup) -> list[Tag]:
    return [each for each in page.find_all(id=True) if type_of_anchor(str(each["id"]))]


def _heading(box: Tag) -> Tag | None:
    heading = re.compile("^h[2-6]$")
    return box if heading.match(box.name) else box.find(class_=re.compile("title")) or box.find(heading)


def remove_a_definition(page: BeautifulSoup, chance: Random) -> None:
    chance.choice(_boxes(page)).decompose()


def rename_an_id(page: BeautifulSoup, chance: Random) -> None:
    box = chance.choice(_boxes(page))
    box["id"] = f"{box['id']}-new"


def swap_headings(page: BeautifulSoup, chance: Random) -> None:
    one, other = chance.sample([heading for box in _boxes(page) if (heading := _heading(box))], 2)
    first, second = one.get_text(), other.get_text()
    one.string, other.string = second, first


def break_formulas(page: BeautifulSoup, chance: Random) -> None:
    box = chance.choice(_boxes(page))
    for text in box.find_all(string=re.compile(r"\\|[=^]")):
        text.replace_with(re.sub(r"\\[a-z]+|[{}=^]", "", text))


def mangle_code(page: BeautifulSoup, chance: Random) -> None:
    for text in chance.choice(_boxes(page)).find_all(string=True):
        text.replace_with("".join(chance.sample(text, len(text))))


def reformat(page: BeautifulSoup, chance: Random) -> None:
    page.smooth()
    for box in _boxes(page):
        box.insert_before("\n\n    ")


def restyle(page: BeautifulSoup, chance: Random) -> None:
    chance.choice(_boxes(page))["style"] = "color: teal"


def comment(page: BeautifulSoup, chance: Random) -> None:
    (page.body or page).append(BeautifulSoup("<!-- checked -->", "html.parser"))


def change_the_script(page: BeautifulSoup, chance: Random) -> None:
    (page.head or page).append(page.new_tag("script", src=f"v{chance.random()}.js"))


def describe(page: BeautifulSoup, chance: Random) -> None:
    (page.head or page).append(page.new_tag("meta", attrs={"name": "description", "content": str(chance.random())}))


RISKY: tuple[Edit, ...] = (remove_a_definition, rename_an_id, swap_headings, break_formulas, mangle_code)
HARMLESS: tuple[Edit, ...] = (reformat, restyle, comment, change_the_script, describe)
DOUBLED = "doubled"


def edit_site(folder: Path, seed: int) -> tuple[str, Path]:
    """Changes a page of a folder, or doubles one; returns the name of the edit, and the file that it wrote."""
    chance = Random(seed)
    file = chance.choice(sorted(folder.rglob("*.html")))
    edits = (*RISKY, None, *HARMLESS)
    edit = edits[seed % len(edits)]
    if edit is None:
        copy = file.with_name(f"0-{file.name}")
        copy.write_bytes(file.read_bytes())
        return DOUBLED, copy
    page = BeautifulSoup(file.read_text("utf-8"), "html.parser")
    edit(page, chance)
    file.write_text(str(page), "utf-8")
    return edit.__name__, file
