"""`sakuin list`: the pages of the library."""

from typing import TYPE_CHECKING

from sakuin.knowledge.page import Words

from sakuin_cli.connections import Command
from sakuin_cli.options import PrefixOption
from sakuin_cli.terminal import counted, minute

if TYPE_CHECKING:
    from sakuin_cli.rest import Record


def list_(command: Command, prefix: PrefixOption = "") -> None:
    """List the pages of the library, with their sections and how many of their words are found."""
    from sakuin_cli.site.uploads import folder_path

    terminal = command.terminal
    with terminal.waiting():
        found = list(command.client.materials(prefix=folder_path(prefix)))
    as_json = terminal.as_json
    names = ("material", "explanations") if as_json else ("page", "sections")
    rows = [
        {names[0]: one["material"], names[1]: one["chunks_count"], **_words(one["words"], as_json)}
        | {"status": _status(one, as_json), "indexed_at": _moment(one["indexed_at"], as_json), "error": one["error"]}
        for one in found
    ]
    terminal.rows("materials", rows)
    if not as_json:
        place = f" below {prefix}" if prefix else ""
        total = f"{counted(len(found), 'page')}, {counted(sum(one['chunks_count'] for one in found), 'section')}"
        books = [Words(**one["words"]) for one in found if one["words"]]
        total += f", {Words.sum_of(books)}" if books else ""
        terminal.print(total if found else f"There is no page{place}: `sakuin push FOLDER` uploads some")


def _words(words: "Record | None", as_json: bool) -> "Record":
    """Returns the books of a page; for people, the numbers in columns of their own."""
    if as_json:
        return {"words": words}
    shown = dict.fromkeys(("searched", "only_read", "left_out", "lost")) if words is None else words
    left_out = sum(words["left_out"].values()) if words else None
    return {name.replace("_", " "): number for name, number in {**shown, "left_out": left_out}.items()}


def _status(one: "Record", as_json: bool) -> str:
    is_redirect = not as_json and "redirect" in (one["words"] or {"left_out": ()})["left_out"]
    return "redirect" if is_redirect else str(one["status"])


def _moment(moment: str | None, as_json: bool) -> str | None:
    return moment if as_json or moment is None else minute(moment)
